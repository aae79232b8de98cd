//! The memory in use is counted, whichever thread gives it back. The figure is the process', so this file has one test:
//! what other tests of the process request and give back would be counted too.

#![cfg(not(any(loom, shuttle)))]

use hotrow_sync::meter::{Metered, SLACK_BYTES, grow, shrink, used_bytes};

#[global_allocator]
static ALLOCATOR: Metered<std::alloc::System> = Metered(std::alloc::System);

#[test]
fn what_is_in_use_is_counted_whoever_gives_it_back() {
    const BLOCK: usize = 1 << 20;
    let before = used_bytes();
    let assert_about = |bytes: usize, when: &str| {
        let grown = used_bytes().cast_signed() - before.cast_signed();
        assert!(grown.abs_diff(bytes.cast_signed()) <= SLACK_BYTES, "{when}: {grown} bytes in place of {bytes}");
    };
    let mut blocks: Vec<_> = (0..64).map(|_| vec![1_u8; BLOCK]).collect();
    assert_about(64 * BLOCK, "blocks requested");
    blocks[0].reserve_exact(63 * BLOCK);
    assert_about(127 * BLOCK, "a block made larger");
    std::thread::spawn(move || drop(blocks)).join().expect("no panic");
    assert_about(0, "blocks given back by another thread");
    grow(40 * BLOCK);
    assert_about(40 * BLOCK, "memory mapped without the allocator");
    shrink(40 * BLOCK);
    assert_about(0, "that memory unmapped");
    for _ in 0..200 {
        std::thread::spawn(|| drop(vec![0_u8; 100_000])).join().expect("no panic");
    }
    assert_about(0, "after threads that came and went");
}
