//! [`Workload`]: what a run needs of a plan.

use super::Error;
use super::engine::protocol::Protocol;
use super::settings::Settings;

pub(super) trait Workload {
    type Protocol: Protocol;

    const NAME: &'static str;

    fn settings(&self) -> &Settings;

    fn check(&self) -> Result<(), Error>;

    fn load(&self) -> String;

    fn closes(&self) -> bool {
        false
    }

    /// The load as another generator's arguments, beside those for the [settings](Self::settings).
    fn arguments(&self) -> Vec<String>;

    /// What each thread asks to set the keys, if any.
    fn fill(&self) -> Option<Vec<Self::Protocol>>;

    fn measure(&self) -> Vec<Self::Protocol>;
}
