//! The bodies within which a statement is bound.

use crate::plan::Body;
use hotrow_sync::Weak;

/// The bodies around a statement that is bound, from the innermost outwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enclosing<'e> {
    /// The address of the definition to which the body belongs: a procedure, a function or a trigger.
    pub(super) owner: *const (),
    /// The body, which is being made.
    pub(super) body: &'e Weak<Body>,
    /// The body around it.
    pub(super) around: Option<&'e Enclosing<'e>>,
}

impl Enclosing<'_> {
    /// Returns the number of bodies.
    pub(super) fn depth(this: Option<&Self>) -> usize {
        this.map_or(0, |enclosing| 1 + Enclosing::depth(enclosing.around))
    }

    /// Returns the body of a definition, with the number of bodies between it and the statement.
    pub(super) fn find(this: Option<&Self>, owner: *const ()) -> Option<(usize, Weak<Body>)> {
        let enclosing = this?;
        if enclosing.owner == owner {
            return Some((0, enclosing.body.clone()));
        }
        let (between, body) = Enclosing::find(enclosing.around, owner)?;
        Some((between + 1, body))
    }
}
