//! The modules of a crate, and which module uses names of which other module.
//!
//! A module that uses a name through a re-export (`pub use`) counts as a user of the module that defines the name. Code
//! of tests is left out, because tests may use everything. Calls of methods are not seen.

use crate::tokens::{Kind, Token, close_of, paths};
use crate::tree::{File, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The path of a module from the root of its crate, as a list of names. The path of the root itself is empty.
pub type ModulePath = Vec<String>;

/// The modules of one crate, each with its file, and their uses of each other.
pub struct Modules<'t> {
    files: BTreeMap<ModulePath, &'t File>,
    /// The re-exports of `pub use`: from the module that has one, and the name in it, to the path that the name stands
    /// for.
    passed_on: BTreeMap<(ModulePath, String), ModulePath>,
    uses: Vec<Use>,
}

/// A use of a name that another module of the same crate defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The module that uses the name.
    pub from: ModulePath,
    /// The module that defines the name.
    pub to: ModulePath,
    /// The number of the line with the use, from one.
    pub line: usize,
}

/// The names of modules that hold tests and models.
const TEST_MODULES: [&str; 2] = ["tests", "model"];

impl<'t> Modules<'t> {
    /// Finds the modules of a crate and their uses of each other. `folder` is the path of the crate's sources, such as
    /// `crates/sql/src/`. Modules of tests are left out.
    pub fn read(tree: &'t Tree, folder: &str) -> Self {
        let in_folder = |file: &'t File| Some((module_path(file.path.strip_prefix(folder)?), file));
        let is_tested = |path: &ModulePath| path.iter().any(|part| TEST_MODULES.contains(&part.as_str()));
        let files = tree.rust().filter_map(in_folder).filter(|(path, _)| !is_tested(path)).collect();
        let mut modules = Self { files, passed_on: BTreeMap::new(), uses: Vec::new() };
        let mut written = Vec::new();
        for (module, file) in &modules.files {
            let (mut of_module, passed_on) = written_paths(&without_tests(file.tokens()));
            // A re-export of the root is no use, because the root only passes the name on.
            if !module.is_empty() {
                of_module.extend(passed_on.iter().cloned());
            }
            for path in passed_on {
                if let (Some(name), Some(path)) = (path.0.last().cloned(), modules.absolute(module, &path.0)) {
                    modules.passed_on.insert((module.clone(), name), path);
                }
            }
            written.push((module.clone(), of_module));
        }
        for (from, paths) in written {
            for (path, line) in paths {
                let to = modules.absolute(&from, &path).and_then(|path| modules.defining(path));
                if let Some(to) = to.filter(|to| *to != from) {
                    modules.uses.push(Use { from: from.clone(), to, line });
                }
            }
        }
        modules
    }

    /// Returns all uses of names between the modules of the crate.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// Returns the file of a module.
    ///
    /// # Panics
    /// If the crate has no such module.
    pub fn file(&self, module: &[String]) -> &'t File {
        self.files[module]
    }

    /// Returns the names of the modules that the crate's root declares.
    pub fn at_root(&self) -> BTreeSet<&str> {
        self.files.keys().filter_map(|path| path.first()).map(String::as_str).collect()
    }

    /// Turns a path that `module` contains into one from the crate's root. Returns `None` if the path leads out of the
    /// crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let above = &module[..module.len().checked_sub(ups)?];
                Some([above, &path[ups..]].concat())
            }
            _ => Some([module, path].concat()).filter(|path| self.files.contains_key(&path[..=module.len()])),
        }
    }

    /// Returns the module that defines the item at a path, found by following re-exports, or `None` if they lead
    /// nowhere.
    fn defining(&self, mut path: ModulePath) -> Option<ModulePath> {
        // A few re-exports are followed at the most, so that a circle of them ends.
        for _ in 0..8 {
            let depth = (0..=path.len()).rev().find(|&depth| self.files.contains_key(&path[..depth]))?;
            let module = path[..depth].to_vec();
            let passed_on = path.get(depth).and_then(|name| self.passed_on.get(&(module.clone(), name.clone())));
            match passed_on {
                Some(target) if *target != path => path = [target, &path[depth + 1..]].concat(),
                _ => return Some(module),
            }
        }
        None
    }
}

/// Returns the path of the module in a file. `bind/mod.rs` and `bind.rs` are `bind`, and `bind/rows.rs` is
/// `bind::rows`.
fn module_path(file: &str) -> ModulePath {
    let parts = file.trim_end_matches(".rs").split('/').map(str::to_owned);
    let mut path: ModulePath = parts.collect();
    if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

/// Returns the tokens without inline modules of tests.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let (mut kept, mut at) = (Vec::with_capacity(tokens.len()), 0);
    while at < tokens.len() {
        let is_tests = tokens[at].is("mod")
            && tokens.get(at + 1).is_some_and(|name| TEST_MODULES.contains(&name.text.as_str()))
            && tokens.get(at + 2).is_some_and(|open| open.is("{"));
        if is_tests {
            at = close_of(&tokens, at + 2) + 1;
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// A path in the source, with its line.
type Written = (ModulePath, usize);

/// Returns the paths that are used, and the paths that `pub use` re-exports.
fn written_paths(tokens: &[Token]) -> (Vec<Written>, Vec<Written>) {
    let (mut used, mut passed_on, mut from) = (Vec::new(), Vec::new(), 0);
    let found = |tokens: &[Token]| -> Vec<Written> {
        paths(tokens).into_iter().map(|path| (path.segments, path.line)).collect()
    };
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word && token.is("use")) {
        let is_public = at > 0 && (tokens[at - 1].is("pub") || tokens[at - 1].is(")"));
        if is_public {
            let end = at + tokens[at..].iter().position(|token| token.is(";")).unwrap_or(tokens.len() - at);
            used.extend(found(&tokens[from..at]));
            passed_on.extend(found(&tokens[at + 1..end]));
            from = end;
        }
    }
    used.extend(found(&tokens[from..]));
    (used, passed_on)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A tree of planted files below `crates/x/src/`.
    pub fn planted(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| File::new(&format!("crates/x/src/{path}"), text)).collect();
        Tree { root: Default::default(), files }
    }

    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let tree = planted(files);
        let modules = Modules::read(&tree, "crates/x/src/");
        modules.uses().iter().map(|found| format!("{} > {}", found.from.join("::"), found.to.join("::"))).collect()
    }

    #[test]
    fn uses_lead_to_the_module_that_defines_a_name() {
        let root = ("lib.rs", "mod a; mod b; pub use a::{Deep, Other};");
        let a = ("a/mod.rs", "mod deep; pub(crate) use deep::Deep; pub struct Other; fn f() { deep::g() }");
        let cases = [
            ("use crate::Other;", "b > a"),
            ("use crate::{Other as Another};", "b > a"),
            ("use crate::Deep;", "b > a::deep"),
            ("fn f(x: super::a::Deep) {}", "b > a::deep"),
            ("use std::fmt; fn f() { other::g() }", ""),
            ("mod tests { use crate::a; }", ""),
        ];
        for (text, expected) in cases {
            let found = arrows(&[root, a, ("a/deep.rs", "pub struct Deep; pub fn g() {}"), ("b.rs", text)]);
            let of_b: Vec<_> = found.iter().filter(|arrow| arrow.starts_with('b')).cloned().collect();
            assert_eq!(of_b.join(", "), expected, "{text}");
            assert!(found.contains(&"a > a::deep".to_owned()), "{found:?}");
        }
    }
}
