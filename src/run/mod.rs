//! The run core: plan, inject, execute, recover.
