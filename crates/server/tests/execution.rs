//! Execution models: what each of them has to do beyond what clients see.

mod common;

use common::Running;
use common::client::{Client, extended};
use hotrow_server::ServerConfig;

/// A server whose coroutines have the smallest stacks there are.
fn with_small_stacks() -> Running {
    Running::with("serial", ServerConfig { stack_bytes: ServerConfig::MIN_STACK_BYTES, ..ServerConfig::default() })
}

/// Statements that nest in every way that there is, `depth` deep.
fn nested(depth: usize) -> Vec<String> {
    let around =
        |open: &str, inner: &str, close: &str| format!("select {}{inner}{}", open.repeat(depth), close.repeat(depth));
    vec![
        around("(", "1", ")"),
        around("- ", "1", ""),
        around("not ", "true", ""),
        around("abs(", "1", ")"),
        around("cast(", "1", " as int)"),
        around("case when true then ", "1", " else 0 end"),
        around("coalesce(null, ", "1", ")"),
        around("1 in (", "1", ")::int"),
        around("1 between 0 and (", "1", ")::int"),
        around("1", " + 1", ""),
        around("1 + (", "1", ")"),
        around("'a' || ('b' || ", "'c'", ")"),
        around("true and (false or ", "true", ")"),
        around("(select ", "1", ")"),
        around("exists (select ", "1", ")"),
        around("array[", "1", "]"),
    ]
}

#[test]
fn however_deep_a_statement_nests_it_ends_with_an_answer_on_the_smallest_stack() {
    let server = with_small_stacks();
    let mut client = server.client();
    for depth in [1, 20, 60, 100, 127, 128, 129, 299, 300, 1000, 100_000] {
        for sql in nested(depth) {
            let simple = client.query(&sql).failure.map(|failure| failure.code);
            client.send(&extended(&sql, &[]));
            let prepared = client.answer().failure.map(|failure| failure.code);
            let shown = &sql[..sql.len().min(40)];
            assert!(
                depth <= 300 || prepared.as_deref().is_some_and(|code| code != "XX000"),
                "{depth} times {shown}…: {prepared:?}"
            );
            assert_eq!(simple, prepared, "{depth} times {shown}…");
        }
    }
    let chain = |depth: usize| {
        (0..depth).fold(String::from("create procedure p0() language sql as $$ select 1 $$"), |all, number| {
            let next = number + 1;
            all + &format!("; create procedure p{next}() language sql as $$ call p{number}() $$")
        })
    };
    client.query(&chain(40));
    for number in 0..40 {
        let _ = client.query(&format!("call p{number}()"));
    }
    assert_eq!(client.column("SELECT 1"), ["1"]);
    assert_eq!(Client::connect(server.address).column("SELECT 1"), ["1"]);
}
