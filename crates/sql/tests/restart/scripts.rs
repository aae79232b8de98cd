//! The scripts of the server's SQL tests, run with a log: each statement has the same outcome as without one, and a
//! restart after each script changes nothing.

use crate::common::{database, outcome, session};
use crate::world::World;
use std::path::Path;

/// The statements of a script. Those of named connections are left out.
fn statements(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    for block in script.split("\n\n") {
        let mut lines = block.lines().skip_while(|line| line.starts_with('#') || line.is_empty());
        let head = lines.next().unwrap_or_default();
        if head.starts_with("statement") || head.starts_with("query") {
            let text: Vec<_> = lines.take_while(|line| *line != "----").collect();
            found.push(text.join("\n"));
        }
    }
    found
}

#[test]
fn scripts_run_as_without_a_log_and_survive_a_restart() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut scripts: Vec<_> =
        folder.read_dir().expect("the folder of the scripts").map(|entry| entry.expect("a file").path()).collect();
    scripts.sort();
    assert!(scripts.len() > 20, "{scripts:?}");
    let mut definitions = 0;
    for path in scripts {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let script = std::fs::read_to_string(&path).expect("a text");
        let without = database("ilock");
        let mut without = session(&without);
        let mut world = World::new("ilock");
        for sql in statements(&script) {
            let with = world.outcome(&sql);
            // Moments and random numbers differ.
            let is_alike = with.len() == outcome(&mut without, &sql).len();
            assert!(is_alike || sql.contains("now") || sql.contains("random"), "{name}: {sql}: {with}");
        }
        world.outcome("rollback");
        let before = world.dump();
        definitions += world.database.tables().len();
        assert_eq!(world.restarted().dump(), before, "{name}");
    }
    assert!(definitions > 20, "{definitions} tables");
}
