//! Statements that nest, in programs that give their threads little stack.

mod common;

use common::{database, outcome, session};
use hotrow_sql::RESERVED_STACK_BYTES;
use hotrow_sync::thread;

#[test]
fn a_statement_nests_as_deep_as_the_stack_of_its_thread_allows() {
    let nested = |depth: usize| format!("select {}1{}", "abs(".repeat(depth), ")".repeat(depth));
    for stack in [3 * RESERVED_STACK_BYTES, 8 * RESERVED_STACK_BYTES] {
        let work = move || {
            let database = database("serial");
            let mut session = session(&database);
            assert_eq!(outcome(&mut session, &nested(10)), "1");
            let deep = format!("select 1{}", " + 1".repeat(250));
            let answer = outcome(&mut session, &deep);
            assert!(answer == "251" || answer == "54001", "{stack}: {answer}");
            assert!(outcome(&mut session, &nested(100_000)) == "54001");
            assert_eq!(outcome(&mut session, "select 2"), "2");
            answer == "251"
        };
        let thread = thread::Builder::new().stack_size(stack).spawn(work).expect("a thread");
        let all = thread.join().expect("it ends in order");
        assert!(all || stack < 8 * RESERVED_STACK_BYTES);
    }
}
