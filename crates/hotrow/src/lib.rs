//! Hotrow: a main-memory OLTP database for contended data, as a library.
pub use hotrow_bench as bench;
pub use hotrow_protocols as protocols;
pub use hotrow_runtime as runtime;
pub use hotrow_server as server;
pub use hotrow_sql as sql;
pub use hotrow_storage as storage;
pub use hotrow_sync as sync;
pub use hotrow_txn as txn;
pub use hotrow_workloads as workloads;
