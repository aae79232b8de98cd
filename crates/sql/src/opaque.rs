//! Values that a layer stores for a higher layer without knowing their types.

use hotrow_sync::Arc;
use std::any::Any;

/// A value that only the layer that made it can read, such as the plan of a subquery in an expression, or the binder's
/// result for a definition in the catalog. Clones share the value. Reading it costs a comparison of type ids, about as
/// much as a call.
#[derive(Clone, Debug)]
pub struct Opaque(Arc<dyn Any + Send + Sync>);

impl Opaque {
    /// Wraps a value of any type.
    pub fn new<T: Any + Send + Sync>(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Returns the value if it is a `T`, else `None`.
    #[inline]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// Returns the value for a change, or `None` if it is no `T` or if a clone shares it.
    pub fn get_mut<T: Any>(&mut self) -> Option<&mut T> {
        Arc::get_mut(&mut self.0)?.downcast_mut()
    }

    /// Returns an `Arc` of the shared value if it is a `T`, else `None`.
    pub fn shared<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().downcast().ok()
    }

    /// Returns the value itself if it is a `T`, and gives back `self` otherwise. If a clone shares the value, returns
    /// it wrapped again.
    pub fn into_inner<T: Any + Send + Sync>(self) -> Result<T, Self> {
        let shared = self.0.downcast::<T>().map_err(Self)?;
        Arc::try_unwrap(shared).map_err(Self::from)
    }

    /// Whether `self` and `other` are clones of one value. Equal values that were wrapped separately are not the same.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Any + Send + Sync> From<Arc<T>> for Opaque {
    fn from(value: Arc<T>) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_what_it_is() {
        let mut text = Opaque::new("a".to_owned());
        assert_eq!(text.get::<String>().map(String::as_str), Some("a"));
        assert_eq!(text.get::<u32>(), None);
        text.get_mut::<String>().unwrap().push('b');
        let other = text.clone();
        assert!(text.get_mut::<String>().is_none() && text.is_same(&other));
        let text = text.into_inner::<u32>().unwrap_err().into_inner::<String>().unwrap_err();
        drop(other);
        assert_eq!(text.shared::<String>().as_deref().map(String::as_str), Some("ab"));
        assert_eq!(text.into_inner::<String>().unwrap(), "ab");
    }
}
