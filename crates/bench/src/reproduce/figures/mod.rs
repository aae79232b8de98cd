//! A file for each reproduced figure, and one for each paper with what its figures share.

mod contention;
mod hekaton;
mod hekaton_4;
mod hekaton_5;
mod hekaton_6;
mod hekaton_7;
mod hekaton_8;
mod hekaton_9;
mod hekaton_table_3;
mod hekaton_table_4;
mod interactive;
mod interactive_14;
mod interactive_15;
mod interactive_16;
mod interactive_18;
mod interactive_20;
mod orthrus;
mod orthrus_1;
mod orthrus_10;
mod orthrus_11;
mod orthrus_12;
mod orthrus_13;
mod orthrus_4;
mod orthrus_5;
mod orthrus_6;
mod orthrus_7;
mod orthrus_8;
mod orthrus_9;
mod orthrus_stores;
mod orthrus_tpcc;
mod sli;
mod sli_1;
mod sli_10;
mod sli_11;
mod sli_6;
mod sli_7;
mod sli_8;
mod sli_9;
mod vll;
mod vll_10;
mod vll_14;
mod vll_15;
mod vll_16;
mod vll_8;
mod vll_9;

use super::figure::Figure;

/// All figures, in the order of the list.
pub(crate) static FIGURES: &[&Figure] = &[
    &orthrus_1::FIGURE,
    &orthrus_4::FIGURE,
    &orthrus_5::FIGURE,
    &orthrus_6::FIGURE,
    &orthrus_7::FIGURE,
    &orthrus_8::FIGURE,
    &orthrus_9::FIGURE,
    &orthrus_10::FIGURE,
    &orthrus_11::FIGURE,
    &orthrus_12::FIGURE,
    &orthrus_13::FIGURE,
    &vll_8::FIGURE,
    &vll_9::FIGURE,
    &vll_10::FIGURE,
    &vll_14::FIGURE,
    &vll_15::FIGURE,
    &vll_16::FIGURE,
    &sli_1::FIGURE,
    &sli_6::FIGURE,
    &sli_7::FIGURE,
    &sli_8::FIGURE,
    &sli_9::FIGURE,
    &sli_10::FIGURE,
    &sli_11::FIGURE,
    &hekaton_4::FIGURE,
    &hekaton_5::FIGURE,
    &hekaton_table_3::FIGURE,
    &hekaton_6::FIGURE,
    &hekaton_7::FIGURE,
    &hekaton_8::FIGURE,
    &hekaton_9::FIGURE,
    &hekaton_table_4::FIGURE,
    &interactive_14::FIGURE,
    &interactive_15::FIGURE,
    &interactive_16::FIGURE,
    &interactive_18::FIGURE,
    &interactive_20::FIGURE,
    &contention::FIGURE,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::names::{MANAGERS, engine_of};
    use crate::reproduce::cost::costs;
    use crate::reproduce::scale::{Scale, Size};
    use hotrow_protocols::ENGINES;
    use std::collections::BTreeSet;
    use std::time::Duration;

    const SIZES: [Size; 4] = [Size::Full, Size::Quick, Size::Simulated, Size::Steps(10)];

    #[test]
    fn every_point_of_every_figure_is_a_command_that_can_be_run() {
        for figure in FIGURES {
            for size in SIZES {
                for cores in [1, 2, 64] {
                    let plan = (figure.plan)(&Scale { size, cores });
                    // The costs are counted from the commands of all runs.
                    costs(&plan).unwrap_or_else(|error| panic!("{} on {cores} cores: {error}", figure.id));
                    for engine in plan.panels.iter().flat_map(|panel| &panel.series).map(|series| series.engine) {
                        let known =
                            ENGINES.iter().any(|info| info.name == engine_of(engine)) || MANAGERS.contains(&engine);
                        assert!(known, "{}: there is no engine {engine}", figure.id);
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_different_and_points_go_one_way() {
        let ids: BTreeSet<_> = FIGURES.iter().map(|figure| figure.id).collect();
        assert_eq!(ids.len(), FIGURES.len());
        for figure in FIGURES {
            for size in SIZES {
                let plan = (figure.plan)(&Scale { size, cores: 2 });
                let panels: BTreeSet<_> = plan.panels.iter().map(|panel| panel.id).collect();
                assert_eq!(panels.len(), plan.panels.len(), "{}", figure.id);
                for panel in &plan.panels {
                    let series: BTreeSet<_> = panel.series.iter().map(|series| series.name).collect();
                    assert_eq!(series.len(), panel.series.len(), "{} ({})", figure.id, panel.id);
                    let places: Vec<_> = panel.points.iter().map(|point| point.x).collect();
                    let (rising, falling) = (places.is_sorted_by(|a, b| a < b), places.is_sorted_by(|a, b| a > b));
                    assert!(rising || falling, "{} ({}): {places:?}", figure.id, panel.id);
                }
            }
        }
    }

    #[test]
    fn all_quick_figures_are_planned_within_ten_minutes() {
        let scale = Scale { size: Size::Quick, cores: 2 };
        let costs = FIGURES.iter().flat_map(|figure| costs(&(figure.plan)(&scale)).expect("the plan is good"));
        let all: Duration = costs.map(|cost| cost.duration(&scale)).sum();
        assert!(all < Duration::from_secs(10 * 60), "{all:?}");
    }
}
