//! Circles of files that use each other. They can only be read together, so a circle may have few files.
//!
//! Uses by the root of a folder of its own files do not count, because a root puts these files together.

use crate::Violation;
use crate::modules::{ModulePath, Modules};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// The most files that a circle may have.
pub const CIRCLE_FILES: usize = 5;

/// Refuses circles of more than [`CIRCLE_FILES`] files that use each other, in each crate.
pub fn circles(tree: &Tree) -> Vec<Violation> {
    let sources = tree.rust().filter_map(|file| Some(&file.path[..file.path.find("/src/")? + "/src/".len()]));
    let folders: BTreeSet<&str> = sources.collect();
    folders.into_iter().flat_map(|folder| check(tree, folder)).collect()
}

fn check(tree: &Tree, folder: &str) -> Vec<Violation> {
    let modules = Modules::read(tree, folder);
    let too_large = circles_of(&modules).into_iter().filter(|circle| circle.len() > CIRCLE_FILES);
    let refuse = |circle: Vec<ModulePath>| {
        let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
        let message = format!(
            "{} files use each other in a circle, {CIRCLE_FILES} are the limit: {}",
            circle.len(),
            names.join(", ")
        );
        Violation::new(&modules.file(&circle[0]).path, 1, message)
    };
    too_large.map(refuse).collect()
}

/// Returns the largest sets of modules in which each module leads to every other one through uses.
fn circles_of(modules: &Modules) -> Vec<Vec<ModulePath>> {
    let mut uses: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = BTreeMap::new();
    // A root puts its crate or folder together: it may use all modules below itself, and these may use the names that
    // it has.
    for found in modules.uses().iter().filter(|found| !found.to.starts_with(&found.from)) {
        uses.entry(&found.from).or_default().insert(&found.to);
    }
    let reached: BTreeMap<_, _> = uses.keys().map(|module| (*module, reached_from(module, &uses))).collect();
    let mut circles: BTreeSet<Vec<ModulePath>> = BTreeSet::new();
    for (module, from_here) in reached.iter().filter(|(module, from_here)| from_here.contains(*module)) {
        let leads_back = |other: &&&ModulePath| reached.get(**other).is_some_and(|reached| reached.contains(module));
        circles.insert(from_here.iter().filter(leads_back).map(|other| (*other).clone()).collect());
    }
    circles.into_iter().collect()
}

fn reached_from<'m>(
    module: &'m ModulePath,
    uses: &BTreeMap<&'m ModulePath, BTreeSet<&'m ModulePath>>,
) -> BTreeSet<&'m ModulePath> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![module]);
    while let Some(next) = open.pop() {
        open.extend(uses.get(next).into_iter().flatten().filter(|used| reached.insert(**used)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::planted;

    #[test]
    fn a_large_circle_is_refused_and_a_small_one_is_not() {
        let ring = |files: usize| {
            let mut texts = vec![("lib.rs".to_owned(), "mod m0; pub use m0::M0; fn f() { m1::f() }".to_owned())];
            texts.extend(
                (0..files).map(|at| (format!("m{at}.rs"), format!("use crate::{{Root, m{}::X}};", (at + 1) % files))),
            );
            texts.push(("outside.rs".to_owned(), "use crate::{m0, Root};".to_owned()));
            let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            circles(&planted(&texts)).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(ring(CIRCLE_FILES), "");
        let found = ring(CIRCLE_FILES + 1);
        assert!(found.starts_with("crates/x/src/m0.rs:1: 6 files use each other in a circle"), "{found}");
        assert!(found.contains("m0, m1, m2, m3, m4, m5") && !found.contains("outside"), "{found}");
    }
}
