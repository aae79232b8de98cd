//! The bodies that are being bound around a statement, and those that have been bound within them.
//!
//! Binding a call binds the body that is called, so bodies are bound within each other.

use crate::catalog::View;
use crate::plan::Body;
use hotrow_sync::{Arc, Weak};
use std::cell::RefCell;

/// A body that is being bound, linked to the bodies around it. A statement of a body is bound with the link to that
/// body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enclosing<'e> {
    /// The address of the definition to which the body belongs: a procedure, a function or a trigger.
    pub(super) owner: *const (),
    /// The body. The reference cannot be upgraded before the body is bound.
    pub(super) body: &'e Weak<Body>,
    /// The body with the statement for which this one is bound; `None` for the outermost body.
    pub(super) around: Option<&'e Enclosing<'e>>,
    /// The bodies that have been bound within the outermost one.
    pub(super) made: &'e Made,
}

impl Enclosing<'_> {
    /// Returns the number of bodies that are being bound, from this one to the outermost.
    pub(super) fn depth(this: Option<&Self>) -> usize {
        this.map_or(0, |enclosing| 1 + Enclosing::depth(enclosing.around))
    }

    /// Finds the body of a definition among the bodies that are being bound. Returns it with its distance: 0 for the
    /// statement's own body, 1 for the body around that, and so on. Returns `None` if the body is not one of them.
    pub(super) fn find(this: Option<&Self>, owner: *const ()) -> Option<(usize, Weak<Body>)> {
        let enclosing = this?;
        if enclosing.owner == owner {
            return Some((0, enclosing.body.clone()));
        }
        let (between, body) = Enclosing::find(enclosing.around, owner)?;
        Some((between + 1, body))
    }
}

/// The bodies that have been bound within an outermost one. Thanks to this list, each is bound once, however often it
/// is called.
///
/// Bodies that call each other in circles form a group. The body of a group that was bound first encloses the others
/// while they are bound, and owns them afterwards. The groups are the strongly connected components of the graph of
/// calls, and are found as in Tarjan's algorithm: the list is its stack, and `Finished::reaches` is its low-link.
#[derive(Debug, Default)]
pub(super) struct Made(RefCell<Vec<Finished>>);

#[derive(Debug)]
struct Finished {
    /// The address of the definition to which the body belongs.
    owner: *const (),
    body: Arc<Body>,
    /// The outermost enclosing body to which this body refers, directly or through others, as its distance from the
    /// outermost one of all. `None` if it refers to none.
    reaches: Option<usize>,
}

impl Made {
    /// Returns the body of a definition if it is in the list and valid for the present catalog. Returns with it the
    /// outermost enclosing body to which it refers.
    pub(super) fn find(&self, owner: *const (), view: View<'_>) -> Option<(Arc<Body>, Option<usize>)> {
        let made = self.0.borrow();
        let found = made.iter().find(|made| made.owner == owner && made.body.used.is_current(view))?;
        Some((found.body.clone(), found.reaches))
    }

    /// Returns the length of the list, which is the place of the next body.
    pub(super) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Adds a body. `since` is the place of the first body that was bound within it.
    pub(super) fn add(&self, since: usize, owner: *const (), body: &Arc<Body>, reaches: Option<usize>) {
        let mut made = self.0.borrow_mut();
        if let Some(reaches) = reaches {
            // What refers to this body reaches as far as this one does.
            for inner in made[since..].iter_mut().filter_map(|made| made.reaches.as_mut()) {
                *inner = reaches.min(*inner);
            }
        }
        made.push(Finished { owner, body: body.clone(), reaches });
    }

    /// Removes the bodies from place `since` on that refer to enclosing bodies, and returns them: the rest of the group
    /// of the body that has just been bound.
    pub(super) fn take_group(&self, since: usize) -> Vec<Arc<Body>> {
        let mut made = self.0.borrow_mut();
        made.extract_if(since.., |made| made.reaches.is_some()).map(|made| made.body).collect()
    }

    /// Removes the bodies from place `since` on, after the binding of the body around them has failed.
    pub(super) fn forget(&self, since: usize) {
        self.0.borrow_mut().truncate(since);
    }
}
