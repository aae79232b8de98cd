//! The files of the repository, read once.

use crate::tokens::{Token, tokenize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders that hold what tools made.
const SKIPPED_FOLDERS: [&str; 4] = ["target", "out", ".git", "__pycache__"];

/// A text file.
pub struct File {
    /// The file's path from the root of the repository, with forward slashes.
    pub path: String,
    /// The text of the file.
    pub text: String,
}

impl File {
    /// A file that tests plant.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// Whether the file is Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The name of the crate's folder, for a file under `crates/`.
    pub fn crate_folder(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether it is compiled for tests and benches only.
    pub fn is_test_target(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "benches")
    }

    /// The tokens of a Rust file; none if it does not lex, which the compiler reports better.
    pub fn tokens(&self) -> Vec<Token> {
        tokenize(&self.text).unwrap_or_default()
    }

    /// The lines, numbered from one.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// All files of one repository.
pub struct Tree {
    /// Where it is.
    pub root: PathBuf,
    /// The files that are text, sorted by path.
    pub files: Vec<File>,
}

impl Tree {
    /// The repository that this crate belongs to.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn of_this_repository() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root of the repository");
        Self::read(root).expect("the repository can be read")
    }

    /// Reads everything below `root`.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { root: root.to_owned(), files })
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The file at this path.
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
