//! What may be chosen about a round without breaking the contract.

/// The bounds of one round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Most pods one round creates; upstream's bound is 250.
    pub creates_max: usize,
    /// Most pods one round deletes; upstream's bound is 250.
    pub deletes_max: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            creates_max: 250,
            deletes_max: 250,
        }
    }
}
