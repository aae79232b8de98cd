//! The files of the repository, read once.

use crate::tokens::{Token, tokenize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The folders whose files were made by tools and are not read.
const SKIPPED_FOLDERS: [&str; 4] = ["target", "out", ".git", "__pycache__"];

/// A text file of the repository.
pub struct File {
    /// The file's path from the root of the repository, with forward slashes.
    pub path: String,
    /// The text of the file.
    pub text: String,
}

impl File {
    /// Makes a file that is only in memory, for tests.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether the file is Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Returns the folder of the file's crate, such as `sql` for a file below `crates/sql/`, or `None` for other files.
    pub fn crate_folder(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether the file is compiled for tests and benches only.
    pub fn is_test_target(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "benches")
    }

    /// Returns the tokens of a Rust file. There are none if the file does not lex, which the compiler reports better.
    pub fn tokens(&self) -> Vec<Token> {
        tokenize(&self.text).unwrap_or_default()
    }

    /// Returns the lines, numbered from one.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// All files of one repository.
pub struct Tree {
    /// The root folder of the repository.
    pub root: PathBuf,
    /// The files that are text, sorted by path.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the repository that this crate belongs to.
    ///
    /// # Panics
    /// If a folder of the repository cannot be read.
    pub fn of_this_repository() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root of the repository");
        Self::read(root).expect("the repository can be read")
    }

    /// Reads all text files below `root`.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { root: root.to_owned(), files })
    }

    /// Returns the Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// Returns the file at a path from the root of the repository, or `None` if there is none.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if entry.file_type()?.is_dir() {
            if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                read_folder(&entry.path(), &path, files)?;
            }
        } else if !name.ends_with(".log")
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
    Ok(())
}
