//! The layers of the modules of a large crate: a module may only use modules of its own layer and of lower ones.

use crate::Violation;
use crate::modules::{Modules, Use};
use crate::tree::Tree;

/// The layers in which the root modules of a crate stand.
struct Layered {
    /// The folder of the crate's sources.
    folder: &'static str,
    /// The layers, each with its modules, the lowest first. A module may use modules of its own layer and of lower
    /// ones.
    layers: &'static [&'static [&'static str]],
}

const LAYERED: &[&Layered] = &[&SQL, &SERVER, &BENCH];

const SQL: Layered = Layered {
    folder: "crates/sql/src/",
    layers: &[
        // Names, values, errors, and the receivers of rows.
        &["full_name"],
        &["error", "schema"],
        &["depth", "json", "memory", "opaque", "types"],
        &["client", "copy", "isolation", "setting_value", "times"],
        // The connected sessions, and what they lock, wait for and count.
        &[
            "activity",
            "admission",
            "advisory",
            "contention",
            "counters",
            "notifications",
            "session_entry",
            "settings",
            "table_lock",
            "turns",
            "watched",
        ],
        &["parse"],
        // Databases' objects and their definitions.
        &["catalog"],
        // What a database has, what all sessions share, and the circles of their waits.
        &["contents"],
        &["cluster"],
        &["locks", "shared"],
        // Expressions, and what they may look at beside their row.
        &["context", "expr", "system"],
        &["plan"],
        &["bind"],
        &["exec"],
        &["database", "session"],
    ],
};

const SERVER: Layered = Layered {
    folder: "crates/server/src/",
    layers: &[
        // The configuration, and the users that may connect.
        &["error"],
        &["auth"],
        &["config", "descriptors"],
        // Bytes: a client's socket, and the protocol's messages.
        &["message", "socket"],
        // The connected clients, and what all connections share.
        &["clients"],
        &["shared"],
        // One client's visit, the models that run it, and what accepts clients.
        &["conversation"],
        &["execution", "metrics"],
        &["server"],
    ],
};

const BENCH: Layered = Layered {
    folder: "crates/bench/src/",
    layers: &[
        // How a benchmark ends, what it runs on, how numbers read.
        &["error", "interrupt", "machine", "numbers"],
        &["options"],
        &["report"],
        &["plot", "table"],
        &["run"],
        &["wire"],
        &["command"],
        &["bench", "reproduce", "trial"],
    ],
};

/// Refuses uses that lead from a module to one in a higher layer, modules at a crate's root that have no layer, and
/// listed modules that do not exist. The layers of each crate are listed in this module.
pub fn layers(tree: &Tree) -> Vec<Violation> {
    LAYERED.iter().flat_map(|layered| check(tree, layered)).collect()
}

fn check(tree: &Tree, layered: &Layered) -> Vec<Violation> {
    let modules = Modules::read(tree, layered.folder);
    let layer_of = |name: &str| layered.layers.iter().position(|layer| layer.contains(&name));
    let mut violations = Vec::new();
    let mut refuse = |path: &str, line, message: String| violations.push(Violation::new(path, line, message));
    for name in modules.at_root().into_iter().filter(|name| layer_of(name).is_none()) {
        refuse(&format!("{}lib.rs", layered.folder), 1, format!("module {name} has no layer: give it one"));
    }
    for name in layered.layers.iter().flat_map(|layer| layer.iter()).filter(|name| !modules.at_root().contains(*name)) {
        refuse("xtask/src/checks/layers.rs", 1, format!("{}: there is no module {name}: unlist it", layered.folder));
    }
    for Use { from, to, line } in modules.uses() {
        // The root puts the crate together, and passes names on.
        let (Some(from_root), Some(to_root)) = (from.first(), to.first()) else { continue };
        if layer_of(from_root) < layer_of(to_root) {
            let (user, used) = (from.join("::"), to.join("::"));
            let message = format!("{user} -> {used} is against the layers: {to_root} is above {from_root}");
            refuse(&modules.file(from).path, *line, message);
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::tests::planted;

    const X: Layered = Layered { folder: "crates/x/src/", layers: &[&["low", "beside"], &["high"]] };

    fn messages(low: &str) -> String {
        let root = "mod low; mod beside; mod high; pub use high::High;";
        let tree = planted(&[
            ("lib.rs", root),
            ("low.rs", low),
            ("beside.rs", "use crate::low::Low;"),
            ("high/mod.rs", "pub mod deep; pub struct High; fn f(low: crate::low::Low) {}"),
            ("high/deep.rs", "use super::High;"),
        ]);
        check(&tree, &X).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn an_arrow_back_is_refused_by_whatever_name_it_goes() {
        assert_eq!(messages("use crate::beside::Beside;"), "");
        for back in [
            "pub(crate) use crate::high::High;",
            "use crate::high::High;",
            "use crate::High;",
            "fn f() { super::high::f() }",
            "use super::high;",
        ] {
            let found = messages(back);
            assert!(found.starts_with("crates/x/src/low.rs:1: low -> high is against the layers"), "{back}: {found}");
        }
        assert!(messages("use crate::high::deep::f;").contains("low -> high::deep is against"));
    }

    #[test]
    fn modules_have_a_layer_and_layers_have_modules() {
        let tree = planted(&[("lib.rs", "mod other;"), ("other.rs", "")]);
        let found = check(&tree, &X);
        assert!(found[0].message.contains("module other has no layer"));
        assert!(found[1].message.contains("there is no module low"));
    }
}
