//! The bodies within which a statement is bound.

use crate::catalog::View;
use crate::plan::Body;
use hotrow_sync::{Arc, Weak};
use std::cell::RefCell;

/// The bodies around a statement that is bound, from the innermost outwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enclosing<'e> {
    /// The address of the definition to which the body belongs: a procedure, a function or a trigger.
    pub(super) owner: *const (),
    /// The body, which is being made.
    pub(super) body: &'e Weak<Body>,
    /// The body around it.
    pub(super) around: Option<&'e Enclosing<'e>>,
    /// The bodies that have been made within the outermost one.
    pub(super) made: &'e Made,
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

/// The bodies that have been made within an outermost one, so that each is made once, however often it is called.
///
/// Bodies that call each other in circles are a group. The first of a group that is bound is around the others while
/// they are bound, and owns them in the end. Groups are found as the strongly connected components of a graph are by a
/// search in depth.
#[derive(Debug, Default)]
pub(super) struct Made(RefCell<Vec<Finished>>);

#[derive(Debug)]
struct Finished {
    /// The address of the definition.
    owner: *const (),
    body: Arc<Body>,
    /// The outermost of the bodies around that the body refers to, directly or through others that do, counted from
    /// the outermost one. `None` if it refers to none.
    reaches: Option<usize>,
}

impl Made {
    /// Returns the body of a definition if it has been made for the present catalog, with the outermost of the bodies
    /// around that it refers to.
    pub(super) fn find(&self, owner: *const (), view: View<'_>) -> Option<(Arc<Body>, Option<usize>)> {
        let made = self.0.borrow();
        let found = made.iter().find(|made| made.owner == owner && made.body.used.is_current(view))?;
        Some((found.body.clone(), found.reaches))
    }

    /// Returns the number of bodies, which is the place of those that are made later.
    pub(super) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Adds a body. `since` is the place of those that were made within it.
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

    /// Takes out the bodies since this place that refer to bodies around them.
    pub(super) fn take_group(&self, since: usize) -> Vec<Arc<Body>> {
        let mut made = self.0.borrow_mut();
        made.extract_if(since.., |made| made.reaches.is_some()).map(|made| made.body).collect()
    }

    /// Forgets the bodies since this place.
    pub(super) fn forget(&self, since: usize) {
        self.0.borrow_mut().truncate(since);
    }
}
