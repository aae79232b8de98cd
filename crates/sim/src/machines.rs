//! The machines that can be simulated, by name; others come from files.

use hotrow_sync::machine::Hardware;
use std::fs;

/// A machine that is known by name.
pub(crate) struct Known {
    pub name: &'static str,
    pub about: &'static str,
    parameters: &'static str,
}

/// The machines that are known by name.
pub(crate) const KNOWN: [Known; 5] = [
    Known {
        name: "cloud",
        about: "a virtual machine of today, with 2 cores; its parameters were fitted to real runs",
        parameters: include_str!("../machines/cloud.toml"),
    },
    Known {
        name: "orthrus",
        about: "the machine of the ORTHRUS paper: 80 cores on 8 sockets",
        parameters: include_str!("../machines/orthrus.toml"),
    },
    Known {
        name: "sli",
        about: "the machine of the SLI paper: 64 hardware contexts on one socket",
        parameters: include_str!("../machines/sli.toml"),
    },
    Known {
        name: "vll",
        about: "the machine of the VLL paper: 8 virtual cores on one socket",
        parameters: include_str!("../machines/vll.toml"),
    },
    Known {
        name: "hekaton",
        about: "the machine of the Hekaton paper: 24 hardware contexts on 2 sockets",
        parameters: include_str!("../machines/hekaton.toml"),
    },
];

/// Returns the machine of this name, or the one that the file of this name describes.
///
/// # Errors
/// If there is neither, or the file is not a valid description of a machine. The message says what was expected.
pub(crate) fn machine(name: &str) -> Result<Hardware, String> {
    let known = KNOWN.iter().find(|known| known.name == name);
    let text = match known {
        Some(known) => known.parameters.to_owned(),
        None => fs::read_to_string(name).map_err(|error| {
            let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
            format!("{name} is no machine, and no file with one ({error}): expected a file, or {}", names.join(", "))
        })?,
    };
    let hardware: Hardware = toml::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
    hardware.check().map_err(|why| format!("{name}: {why}"))?;
    Ok(hardware)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_known_machines_are_possible() {
        for known in &KNOWN {
            machine(known.name).expect(known.name);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_are_known() {
        assert!(machine("abacus").unwrap_err().contains("cloud, orthrus"));
    }
}
