//! The identity of domains.

/// The identity of a domain, which stays the same when the domain is renamed or changed: its OID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DomainId(pub u32);
