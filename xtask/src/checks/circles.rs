//! Circles of files that use each other. They can only be read together, so a circle is one thing or a mistake: each
//! circle that stays is listed here with the reason why its files are one thing, and a circle may have few files.
//!
//! Uses by the root of a folder of its own files do not count, because a root puts these files together.

use crate::Violation;
use crate::modules::{ModulePath, Modules};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// The greatest number of files in a circle of files that use each other.
pub const CIRCLE_FILES: usize = 5;

/// A circle that stays.
struct Circle {
    /// The folder of the crate's sources.
    folder: &'static str,
    /// The modules of the circle, in the order of their names.
    modules: &'static [&'static str],
    /// The reason why the files are one thing.
    why: &'static str,
}

const CIRCLES: &[Circle] = &[
    Circle {
        folder: "crates/protocols/src/",
        modules: &["orthrus::node", "orthrus::request"],
        why: "a node keeps the request that was granted to it, and a request comes back to its node",
    },
    Circle {
        folder: "crates/runtime/src/",
        modules: &["simulation::scheduler", "simulation::simulated"],
        why: "a task makes the transaction objects whose accesses are its steps",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["catalog::expected", "catalog::foreign_key", "catalog::index", "catalog::table", "catalog::view"],
        why: "a table has its foreign keys, the properties of its indexes, the query of a materialized view and its \
              expected number of rows, which a plan keeps together with the table; views have comments as tables do",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["copy::read", "copy::read_binary", "copy::read_csv", "copy::read_text"],
        why: "the reader of COPY data leaves a row to the file of its format, which takes the bytes from the reader",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["database", "session"],
        why: "a database opens sessions, and a session runs on its database",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["exec::json_rows", "exec::table_function"],
        why: "the functions that take JSON apart are table functions, and return their rows as all of these do",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["expr::arith", "expr::interval_arithmetic"],
        why: "an operator takes numbers or intervals, and fails in the same way for both",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["expr::eval", "expr::frame", "expr::kept"],
        why: "an expression is evaluated within frames, whose rows were the input of other evaluations",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["expr::expression", "expr::subquery"],
        why: "an expression may be a subquery, which has expressions as operands",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["parse::copy", "parse::cursors", "parse::explain", "parse::utility"],
        why: "utility statements are one type, and each kind of them is read in its own file",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["plan::analysis", "plan::change", "plan::foreign_keys", "plan::procedure", "plan::statement"],
        why: "a plan may call a procedure, analyse a statement or change rows, which have plans in them: those of bodies, \
              of actions of foreign keys and of triggers' functions",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["plan::measured", "plan::node", "plan::window"],
        why: "an operator may be measured or be that of window functions, and both have an operator below them",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["session::batch", "session::planned", "session::retry", "session::run", "session::text"],
        why: "a statement comes from a text or a batch, and is planned, run and retried: the steps of one run",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["system::all", "system::objects", "system::other_types"],
        why: "system relations and types have numbers, and are among the objects that have numbers",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["system::comments", "system::pg_catalog"],
        why: "pg_catalog has a relation of comments, and some of these are on columns that pg_catalog describes",
    },
    Circle {
        folder: "crates/sql/src/",
        modules: &["types::array", "types::binary", "types::text"],
        why: "an array reads and prints its elements as values, of which some are arrays",
    },
    Circle {
        folder: "crates/storage/src/",
        modules: &["array", "value"],
        why: "a value may be an array, whose elements are values",
    },
    Circle {
        folder: "crates/sync/src/",
        modules: &["coroutine::overflow", "stack"],
        why: "while a coroutine runs, its thread is on the coroutine's stack, and each file tells the other where it ends",
    },
];

/// Refuses circles: sets of files of one crate in which each file uses each other one, directly or through files in
/// between. A circle is allowed if it is listed in this module and has at most [`CIRCLE_FILES`] files. Also refuses
/// listed circles that no longer exist.
pub fn circles(tree: &Tree) -> Vec<Violation> {
    check(tree, CIRCLES)
}

fn check(tree: &Tree, listed: &[Circle]) -> Vec<Violation> {
    let sources = tree.rust().filter_map(|file| Some(&file.path[..file.path.find("/src/")? + "/src/".len()]));
    let folders: BTreeSet<&str> = sources.collect();
    let (mut violations, mut found_circles) = (Vec::new(), Vec::new());
    for folder in folders {
        let modules = Modules::read(tree, folder);
        for circle in circles_of(&modules) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            let is_listed = listed.iter().any(|known| known.folder == folder && known.modules == names);
            let wrong = match (circle.len() > CIRCLE_FILES, is_listed) {
                (true, _) => Some(format!("{CIRCLE_FILES} are the limit")),
                (false, false) => {
                    Some("move an item to where it belongs, or list the circle with its reason".to_owned())
                }
                (false, true) => None,
            };
            if let Some(wrong) = wrong {
                let message =
                    format!("{} files use each other in a circle: {}: {wrong}", circle.len(), names.join(", "));
                violations.push(Violation::new(&modules.file(&circle[0]).path, 1, message));
            }
            found_circles.push((folder, names));
        }
    }
    let is_gone = |known: &&Circle| {
        !found_circles.iter().any(|(folder, names)| known.folder == *folder && known.modules == names.as_slice())
    };
    violations.extend(listed.iter().filter(is_gone).map(|Circle { folder, modules, why }| {
        let message = format!("{folder}: {} are no circle any more ({why}): unlist them", modules.join(", "));
        Violation::new("xtask/src/checks/circles.rs", 1, message)
    }));
    violations
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

    /// Returns the violations of a crate in which so many files use each other in a ring.
    fn ring(files: usize, listed: &[Circle]) -> String {
        let mut texts = vec![("lib.rs".to_owned(), "mod m0; pub use m0::M0; fn f() { m1::f() }".to_owned())];
        let text = |at| (format!("m{at}.rs"), format!("use crate::{{Root, m{}::X}};", (at + 1) % files));
        texts.extend((0..files).map(text));
        texts.push(("outside.rs".to_owned(), "use crate::{m0, Root};".to_owned()));
        let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        check(&planted(&texts), listed).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn listed(modules: &'static [&'static str]) -> Circle {
        Circle { folder: "crates/x/src/", modules, why: "they are a ring" }
    }

    #[test]
    fn a_circle_is_refused_unless_it_is_listed() {
        let found = ring(2, &[]);
        assert!(
            found.starts_with("crates/x/src/m0.rs:1: 2 files use each other in a circle: m0, m1: move an"),
            "{found}"
        );
        assert_eq!(ring(2, &[listed(&["m0", "m1"])]), "");
        assert!(ring(3, &[listed(&["m0", "m1"])]).contains("3 files use each other in a circle: m0, m1, m2: move an"));
    }

    #[test]
    fn a_large_circle_is_refused_though_it_is_listed() {
        let all = listed(&["m0", "m1", "m2", "m3", "m4"]);
        assert_eq!(ring(CIRCLE_FILES, &[all]), "");
        let found = ring(CIRCLE_FILES + 1, &[listed(&["m0", "m1", "m2", "m3", "m4", "m5"])]);
        assert!(
            found.contains("6 files") && found.contains("5 are the limit") && !found.contains("outside"),
            "{found}"
        );
    }

    #[test]
    fn a_listed_circle_that_is_none_is_refused() {
        let found = ring(1, &[listed(&["m0", "m1"])]);
        assert!(found.contains("m0, m1 are no circle any more (they are a ring): unlist them"), "{found}");
    }
}
