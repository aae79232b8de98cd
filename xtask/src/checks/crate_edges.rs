//! The dependencies between the crates of the workspace, which must follow the arrows in ARCHITECTURE.md.

use crate::Violation;
use crate::tree::Tree;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// A crate of the workspace and the crates of the workspace that it may depend on.
struct Arrow {
    name: &'static str,
    may_use: &'static [&'static str],
    why: &'static str,
}

const ARROWS: &[Arrow] = &[
    Arrow { name: "hotrow-sync", may_use: &[], why: "sync is the bottom: everything stands on it" },
    Arrow { name: "hotrow-numeric", may_use: &[], why: "numeric is about numbers and knows nothing of a database" },
    Arrow {
        name: "hotrow-storage",
        may_use: &["hotrow-sync", "hotrow-numeric"],
        why: "storage keeps rows and names no protocol and no transaction",
    },
    Arrow {
        name: "hotrow-txn",
        may_use: &["hotrow-sync", "hotrow-storage"],
        why: "txn is vocabulary: it knows what rows are and nothing of who runs transactions",
    },
    Arrow {
        name: "hotrow-protocols",
        may_use: &["hotrow-sync", "hotrow-storage", "hotrow-txn"],
        why: "a protocol knows no SQL, no workload and no runtime, so that all of them can use any protocol",
    },
    Arrow {
        name: "hotrow-log",
        may_use: &["hotrow-sync", "hotrow-storage", "hotrow-txn"],
        why: "the log writes rows and knows nothing of who changed them",
    },
    Arrow {
        name: "hotrow-runtime",
        may_use: &["hotrow-sync", "hotrow-storage", "hotrow-txn", "hotrow-log"],
        why: "the runtime runs transactions of any protocol and any origin: it knows none of them",
    },
    Arrow {
        name: "hotrow-sql",
        may_use: &["hotrow-sync", "hotrow-numeric", "hotrow-storage", "hotrow-txn", "hotrow-log", "hotrow-runtime"],
        why: "SQL is compiled once, over dyn Transaction: it knows no protocol and no socket",
    },
    Arrow {
        name: "hotrow-server",
        may_use: &["hotrow-sync", "hotrow-storage", "hotrow-txn", "hotrow-log", "hotrow-runtime", "hotrow-sql"],
        why: "the server speaks for any engine that it is handed",
    },
    Arrow {
        name: "hotrow-workloads",
        may_use: &["hotrow-sync", "hotrow-storage", "hotrow-txn"],
        why: "a procedure is written once and never asks which engine runs it",
    },
    Arrow {
        name: "hotrow-check",
        may_use: &["hotrow-sync", "hotrow-storage", "hotrow-txn"],
        why: "check judges what transactions did, whichever engine and whoever ran them",
    },
    Arrow {
        name: "hotrow-bench",
        may_use: &[
            "hotrow-sync",
            "hotrow-storage",
            "hotrow-txn",
            "hotrow-protocols",
            "hotrow-log",
            "hotrow-runtime",
            "hotrow-sql",
            "hotrow-server",
            "hotrow-workloads",
            "hotrow-check",
        ],
        why: "the driver is used by the program, not the other way round",
    },
    Arrow {
        name: "hotrow-sim",
        may_use: &["hotrow-sync", "hotrow-bench"],
        why: "a simulated run is a benchmark on other hardware, and nothing else",
    },
    Arrow {
        name: "hotrow",
        may_use: &[
            "hotrow-sync",
            "hotrow-storage",
            "hotrow-txn",
            "hotrow-protocols",
            "hotrow-log",
            "hotrow-runtime",
            "hotrow-sql",
            "hotrow-server",
            "hotrow-workloads",
            "hotrow-check",
            "hotrow-bench",
        ],
        why: "the library and the program put everything together",
    },
    Arrow { name: "xtask", may_use: &[], why: "tidy reads the tree and must not need it to compile" },
];

/// The dev-dependencies that go against the arrows: the crate that has one, the crate that it names, and the tests that
/// need it. They are not part of the shipped program.
const TEST_ARROWS: &[(&str, &str, &str)] = &[
    ("hotrow-protocols", "hotrow-check", "the registry's engines are rebuilt from their redo records"),
    ("hotrow-protocols", "hotrow-log", "the registry's engines are recovered from a log"),
    ("hotrow-runtime", "hotrow-protocols", "the simulator runs the registry's engines"),
    ("hotrow-runtime", "hotrow-check", "the simulator's tests judge recorded histories"),
    ("hotrow-runtime", "hotrow-log", "simulated transactions are recovered from a log after crashes"),
    ("hotrow-sql", "hotrow-protocols", "statements are tested on an engine"),
    ("hotrow-sql", "hotrow-check", "what sessions did is rebuilt from the redo records"),
    ("hotrow-server", "hotrow-protocols", "the server is tested over an engine"),
    ("hotrow-workloads", "hotrow-protocols", "procedures are tested on the registry's engines"),
];

/// Third-party crates with the crates of the workspace that may depend on them. Each belongs to one crate, or to both
/// ends of a connection, so that it can be replaced there.
const KEPT_IN: &[(&str, &[&str])] = &[
    ("num-bigint", &["hotrow-numeric"]),
    ("rust_decimal", &["hotrow-numeric"]),
    ("sqlparser", &["hotrow-sql"]),
    ("pgwire", &["hotrow-server"]),
    ("tokio", &["hotrow-server", "hotrow-bench"]),
    ("corosensei", &["hotrow-sync"]),
    ("rustls", &["hotrow-server"]),
    ("loom", &["hotrow-sync"]),
    ("shuttle", &["hotrow-sync"]),
];

/// Refuses dependencies in a `Cargo.toml` on crates of the workspace that the crate may not use, dependencies on
/// third-party crates that are reserved for other crates, and listed exceptions for tests that are not needed.
pub fn crate_edges(tree: &Tree) -> Vec<Violation> {
    let stale = TEST_ARROWS.iter().filter(|(user, used, _)| {
        let manifest =
            user.strip_prefix("hotrow-").and_then(|folder| tree.file(&format!("crates/{folder}/Cargo.toml")));
        !manifest.is_some_and(|file| {
            let manifest: Table = file.text.parse().unwrap_or_default();
            dependencies(&manifest, "dev-dependencies").any(|name| name == *used)
        })
    });
    let stale = stale.map(|(user, used, _)| {
        Violation::new(
            "xtask/src/checks/crate_edges.rs",
            1,
            format!("{user} -> {used} is not used in tests: unlist it"),
        )
    });
    let manifests = tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml") && file.path.contains('/'));
    manifests.flat_map(|file| check(&file.path, &file.text)).chain(stale).collect()
}

fn check(path: &str, text: &str) -> Vec<Violation> {
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Violation::new(path, 1, format!("not a manifest: {error}"))],
    };
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str).unwrap_or("");
    let Some(arrow) = ARROWS.iter().find(|arrow| arrow.name == name) else {
        let message =
            format!("crate {name:?} has no place in the map: add it to ARCHITECTURE.md and to the arrows here");
        return vec![Violation::new(path, 1, message)];
    };
    let line_of = |wanted: &str| {
        let at = text.lines().position(|line| line.trim_start().starts_with(wanted));
        at.map_or(1, |at| at + 1)
    };
    let mut violations = Vec::new();
    let mut refuse = |dependency: &str, message: String| {
        violations.push(Violation::new(path, line_of(dependency), message));
    };
    for dependency in dependencies(&manifest, "dependencies").chain(dependencies(&manifest, "build-dependencies")) {
        if is_ours(dependency) && !arrow.may_use.contains(&dependency) {
            let allowed = if arrow.may_use.is_empty() { "none of ours".into() } else { arrow.may_use.join(", ") };
            let message = format!("{name} -> {dependency} is against the arrows: {}; it may use {allowed}", arrow.why);
            refuse(dependency, message);
        }
        if let Some((_, keepers)) =
            KEPT_IN.iter().find(|(kept, keepers)| *kept == dependency && !keepers.contains(&name))
        {
            refuse(
                dependency,
                format!("{dependency} is used by {} only, so that it can be replaced there", keepers.join(", ")),
            );
        }
    }
    for dependency in dependencies(&manifest, "dev-dependencies") {
        let listed = TEST_ARROWS.iter().any(|(user, used, _)| *user == name && *used == dependency);
        if is_ours(dependency) && !arrow.may_use.contains(&dependency) && !listed {
            let message = format!(
                "{name} -> {dependency} in tests is against the arrows: list it with its reason in TEST_ARROWS"
            );
            refuse(dependency, message);
        }
    }
    violations
}

fn is_ours(dependency: &str) -> bool {
    dependency == "hotrow" || dependency.starts_with("hotrow-")
}

/// Returns the names in a manifest's tables of this kind, such as `dev-dependencies`, those of `[target.…]` included.
fn dependencies<'a>(manifest: &'a Table, kind: &'a str) -> impl Iterator<Item = &'a str> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values());
    let tables = targets.filter_map(Value::as_table).chain([manifest]);
    tables.filter_map(move |table| table.get(kind)?.as_table()).flat_map(|table| table.keys().map(String::as_str))
}

/// Refuses third-party crates of the workspace without a row in the table of ARCHITECTURE.md, and rows for crates that
/// the workspace does not use.
pub fn crates_are_explained(tree: &Tree) -> Vec<Violation> {
    let (Some(manifest), Some(map)) = (tree.file("Cargo.toml"), tree.file("ARCHITECTURE.md")) else {
        return vec![Violation::new("ARCHITECTURE.md", 1, "missing, or Cargo.toml is")];
    };
    unexplained(&manifest.text, &map.text)
}

fn unexplained(manifest: &str, map: &str) -> Vec<Violation> {
    let manifest: Table = manifest.parse().unwrap_or_default();
    let table = manifest.get("workspace").and_then(|workspace| workspace.get("dependencies")).and_then(Value::as_table);
    let used: BTreeSet<&str> =
        table.into_iter().flatten().map(|(name, _)| name.as_str()).filter(|name| !is_ours(name)).collect();
    let section = map.split("\n## ").find(|section| section.starts_with("Crates from elsewhere")).unwrap_or("");
    let explained = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let missing = used.difference(&explained).map(|name| format!("the table of crates says nothing about `{name}`"));
    let stale = explained.difference(&used).map(|name| format!("the table of crates has `{name}`, which nobody uses"));
    missing.chain(stale).map(|message| Violation::new("ARCHITECTURE.md", 1, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(manifest: &str) -> String {
        check("crates/x/Cargo.toml", manifest).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn arrows_that_run_the_right_way_pass() {
        let manifest = "[package]\nname = \"hotrow-txn\"\n[dependencies]\nhotrow-sync.workspace = true\nhotrow-storage.workspace = true\n";
        assert_eq!(messages(manifest), "");
    }

    #[test]
    fn a_planted_arrow_is_caught_wherever_it_stands() {
        let cases = [
            ("hotrow-storage", "[dependencies]\nhotrow-txn.workspace = true", "hotrow-storage -> hotrow-txn"),
            ("hotrow-sql", "[dependencies.hotrow-protocols]\nworkspace = true", "hotrow-sql -> hotrow-protocols"),
            ("hotrow-sync", "[target.'cfg(loom)'.dependencies]\nhotrow-txn = \"1\"", "hotrow-sync -> hotrow-txn"),
            ("hotrow-sync", "[build-dependencies]\nhotrow = \"1\"", "hotrow-sync -> hotrow "),
            ("hotrow-sync", "[dev-dependencies]\nhotrow = \"1\"", "TEST_ARROWS"),
            ("hotrow-bench", "[dependencies]\nsqlparser = \"1\"", "used by hotrow-sql only"),
            ("hotrow-new", "", "no place in the map"),
        ];
        for (name, rest, expected) in cases {
            let found = messages(&format!("[package]\nname = \"{name}\"\n{rest}\n"));
            assert!(found.contains(expected), "{name} {rest:?}: {found:?}");
        }
    }

    #[test]
    fn exceptions_that_nobody_needs_are_caught() {
        let tree = Tree { root: Default::default(), files: Vec::new() };
        assert_eq!(crate_edges(&tree).len(), TEST_ARROWS.len());
    }

    #[test]
    fn listed_test_arrows_pass() {
        let manifest = "[package]\nname = \"hotrow-sql\"\n[dev-dependencies]\nhotrow-protocols.workspace = true\n";
        assert_eq!(messages(manifest), "");
    }

    #[test]
    fn crates_without_a_line_and_lines_without_a_crate_are_caught() {
        let manifest = "[workspace.dependencies]\nhotrow-sync = { path = \"x\" }\nclap = \"4\"\nbytes = \"1\"\n";
        let map = |rows: &str| format!("## Code map\n| `sync` | x |\n## Crates from elsewhere\n{rows}");
        let count = |rows: &str| unexplained(manifest, &map(rows)).len();
        assert_eq!(count("| `bytes` | x |\n| `clap` | x |\n"), 0);
        assert_eq!(count("| `bytes` | x |\n"), 1);
        assert_eq!(count("| `bytes` | x |\n| `clap` | x |\n| `gone` | x |\n"), 1);
    }
}
