//! The files of the repository, read once.

use crate::tokens::{Token, tokenize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The folders whose files were made by tools and are not read. In a further worktree of git `.git` is a file.
const SKIPPED: [&str; 4] = ["target", "out", ".git", "__pycache__"];

/// A text file of the repository.
pub struct File {
    /// The path of the file from the root of the repository, with forward slashes.
    pub path: String,
    /// The text of the file.
    pub text: String,
}

impl File {
    /// Makes a file in memory, for tests. Nothing is written to disk.
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

    /// Whether the file is in a folder `tests` or `benches`, so that only tests and benchmarks compile it.
    pub fn is_test_target(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "benches")
    }

    /// Returns the tokens of a Rust file, or an empty list if it is not valid Rust tokens. The compiler reports that
    /// error.
    pub fn tokens(&self) -> Vec<Token> {
        tokenize(&self.text).unwrap_or_default()
    }

    /// Iterates over the lines of the file, with their numbers from one.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// All text files of a repository, read into memory.
pub struct Tree {
    /// The root folder of the repository.
    pub root: PathBuf,
    /// The files, sorted by path.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the files of the repository to which this crate belongs.
    ///
    /// # Panics
    /// If a folder of the repository cannot be listed.
    pub fn of_this_repository() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root of the repository");
        Self::read(root).expect("the repository can be read")
    }

    /// Reads all text files below the folder `root`, except for logs and folders such as `target`. Files that are not
    /// UTF-8 are left out.
    ///
    /// # Errors
    /// If a folder cannot be listed.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { root: root.to_owned(), files })
    }

    /// Iterates over the Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// Returns the file with this path from the root of the repository, or `None` if there is none.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            read_folder(&entry.path(), &path, files)?;
        } else if !name.ends_with(".log")
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
    Ok(())
}
