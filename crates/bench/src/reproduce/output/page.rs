//! The page: every figure with the claims of its paper, the curves measured here, and whether the claims hold.
//!
//! The page is one file that needs no other, for wide and narrow screens, light and dark. The template escapes all text
//! that comes from outside, such as names of processors, options and messages.

use super::chart;
use super::sheet::{self, hex};
use crate::machine::{COMMIT, Host};
use crate::numbers::length;
use crate::reproduce::claim::Verdict;
use crate::reproduce::figure::Figure;
use crate::reproduce::plan::Panel;
use crate::reproduce::requested::{RequestedFigure, State};
use crate::reproduce::results::Results;
use crate::reproduce::scale::{Scale, Size};
use hotrow_txn::number_of;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::time::Duration;

/// The facts at the top of the page.
pub(crate) struct PageHeader<'a> {
    pub host: &'a Host,
    /// The time at which the reproduction began, for people.
    pub date: String,
    pub scale: &'a Scale,
    pub took: Duration,
}

/// Returns the page, in HTML, with the results so far.
pub(crate) fn render(header: &PageHeader<'_>, figures: &[RequestedFigure]) -> Result<String, String> {
    let sections: Vec<_> =
        figures.iter().map(|requested| section(requested, header.scale)).collect::<Result<_, _>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Hotrow: figures reproduced" }
                style { (PreEscaped(style())) }
            }
            body {
                main {
                    h1 { "Figures reproduced" }
                    p {
                        "What papers on main-memory transaction processing read from their figures, and what the same "
                        "experiments say on this machine. Whether a claim holds is decided by the program from the "
                        "measured points, by the criterion that stands beside it: the paper's own bar. What is weaker "
                        "than the paper is called so, and is not counted."
                    }
                    (facts(header))
                    (contents(figures))
                    @for section in &sections { (section) }
                }
            }
        }
    };
    Ok(page.into_string())
}

fn facts(header: &PageHeader<'_>) -> Markup {
    let scale = header.scale;
    let (repetitions, measured) = (number_of(scale.repetitions(), "run"), scale.measured().as_secs_f64());
    let runs = match scale.size {
        Size::Full => format!("full: medians of {repetitions} of {measured} s at each point"),
        Size::Quick => format!("--quick: medians of {repetitions} of {measured} s at each point, smaller tables"),
        Size::Simulated => {
            let time = format!("simulated: {measured} s of the machine's time at each point, smaller tables");
            format!("{time}; threads as in the paper, also where a text says more for smaller machines")
        }
        Size::Steps(steps) => {
            format!("--steps {steps}: runs of {}, which measure nothing", number_of(steps, "transaction"))
        }
    };
    html! {
        dl {
            dt { "Machine" } dd { (header.host) }
            dt { "Program" } dd { "Hotrow " (env!("CARGO_PKG_VERSION")) ", commit " code { (COMMIT) } }
            dt { "Date" } dd { (header.date) }
            dt { "Options" } dd { (runs) }
            dt { "Duration" } dd { (length(header.took)) }
        }
    }
}

fn contents(figures: &[RequestedFigure]) -> Markup {
    html! {
        table {
            thead { tr { th { "Figure" } th { "What it shows" } th { "Claims that hold" } } }
            tbody {
                @for requested in figures {
                    tr {
                        td { a href={ "#" (requested.figure.id) } { (requested.figure.id) } }
                        td { (requested.figure.title) }
                        td { (tally(requested)) }
                    }
                }
            }
        }
    }
}

/// Returns how many claims hold, or why that is unknown.
fn tally(requested: &RequestedFigure) -> String {
    match &requested.state {
        State::Waiting => "not measured yet".to_owned(),
        State::Interrupted => "interrupted".to_owned(),
        State::Failed(_) => "failed".to_owned(),
        State::Done => requested.tally(),
    }
}

fn section(requested: &RequestedFigure, scale: &Scale) -> Result<Markup, String> {
    let (figure, plan) = (requested.figure, &requested.results.plan);
    let drawings: Vec<_> = if requested.results.is_empty() {
        Vec::new()
    } else {
        drawings(&requested.results).collect::<Result<_, _>>()?
    };
    Ok(html! {
        section id=(figure.id) {
            h2 { (figure.title) }
            p .source { cite { (figure.paper.title) } ", " (figure.place) }
            (state(&requested.state))
            p { strong { "There. " } (figure.there) }
            p { strong { "Here. " } (figure.here) }
            div .panels {
                @for (panel, svg) in &drawings {
                    figure role="img" aria-label={ (panel.title) ": " (plan.value) } { (PreEscaped(svg)) }
                }
            }
            (claims(figure, &requested.results))
            @if !requested.results.is_empty() { (files(requested)) }
            (commands(&requested.results, scale))
        }
    })
}

/// Returns the paragraph that says where the points are, and what the checks after the runs found.
fn files(requested: &RequestedFigure) -> Markup {
    let (runs, unisolated) = requested.results.checked();
    html! {
        p .files {
            "Points: " a href={ (requested.figure.id) ".csv" } { (requested.figure.id) ".csv" } ". "
            (runs) " runs in " (length(requested.took)) ", the database checked after each"
            @match &requested.state {
                State::Failed(_) => ".",
                _ => ": consistent.",
            }
            @if unisolated > 0 { " In " (unisolated) " of them no locking lost updates, as it may." }
        }
    }
}

fn drawings(results: &Results) -> impl Iterator<Item = Result<(&Panel, String), String>> {
    let panels = results.plan.panels.iter().enumerate();
    panels.map(|(number, panel)| chart::draw(results, number).map(|svg| (panel, svg)))
}

fn state(state: &State) -> Markup {
    html! {
        @match state {
            State::Waiting => p .note { "Not measured yet." },
            State::Done => {},
            State::Interrupted => p .note {
                "Interrupted: what is drawn is what was measured until then, and nothing is concluded from it."
            },
            State::Failed(what) => p .failure { "Failed: " (what) },
        }
    }
}

fn claims(figure: &Figure, results: &Results) -> Markup {
    html! {
        @for claim in figure.claims {
            @let verdict = claim.verdict(results);
            div .claim {
                p {
                    @match &verdict {
                        Verdict::Holds(_) => span .badge .holds { "✓ " (verdict) },
                        Verdict::Fails(_) => span .badge .fails { "✗ " (verdict) },
                        Verdict::Undecided => span .badge { "… " (verdict) },
                    }
                    " " (claim.text)
                }
                p .detail { "Criterion: " (claim.criterion) }
                (measured(&verdict))
                @if let Some(weaker) = &claim.weaker {
                    @let verdict = weaker.verdict(results);
                    p .detail {
                        "Weaker than the paper: " (weaker.criterion)
                        @match &verdict {
                            Verdict::Holds(_) => " ✓ So much holds.",
                            Verdict::Fails(_) => " ✗ Not even that holds.",
                            Verdict::Undecided => " … Not decided.",
                        }
                    }
                    (measured(&verdict))
                }
                @if let Verdict::Fails(_) = &verdict {
                    p .detail { "Why not: " (claim.otherwise) }
                }
            }
        }
    }
}

fn measured(verdict: &Verdict) -> Markup {
    html! {
        @if let Verdict::Holds(evidence) | Verdict::Fails(evidence) = verdict {
            p .detail { "Measured: " (evidence) "." }
        }
    }
}

/// Returns the commands that measure the last point of each panel on its own.
fn commands(results: &Results, scale: &Scale) -> Markup {
    let last = results.plan.panels.iter().filter_map(|panel| Some((panel, panel.points.last()?)));
    html! {
        details {
            summary { "The last point of each panel on its own" }
            @for (panel, point) in last {
                p { "(" (panel.id) ") " (point.label) }
                pre { code { (panel.commands(point, &results.plan, scale).join("\n")) } }
            }
        }
    }
}

/// Returns the style sheet, with other colours of the drawings for dark screens.
fn style() -> String {
    let white = plotters::style::WHITE;
    let dark = [
        (white, "#181B1F"),
        (sheet::INK, "#E4E6E8"),
        (sheet::FAINT, "#3A3F45"),
        (sheet::GREY, "#A2A8AE"),
        (sheet::PALETTE[0], "#4DA6E0"),
        (sheet::PALETTE[1], "#F28C45"),
        (sheet::PALETTE[2], "#35C49A"),
        (sheet::PALETTE[3], "#D995BB"),
        (sheet::PALETTE[4], "#F0B53C"),
        (sheet::PALETTE[5], "#7CC6F0"),
    ];
    let rule = |(from, to)| {
        let from = hex(from);
        format!("svg [fill=\"{from}\"]{{fill:{to}}}svg [stroke=\"{from}\"]{{stroke:{to}}}")
    };
    let rules: String = dark.into_iter().map(rule).collect();
    format!("{STYLE}@media (prefers-color-scheme: dark){{{DARK}{rules}}}")
}

const STYLE: &str = "\
:root{--paper:#fff;--ink:#222;--faint:#667;--line:#ddd;--good:#06694b;--bad:#a33c00}\
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\
main{max-width:70rem;margin:0 auto;padding:1rem}\
h1,h2{line-height:1.2}h2{margin-top:3rem;border-top:1px solid var(--line);padding-top:1.5rem}\
p,dl{max-width:46rem}a{color:inherit}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:var(--faint)}dd{margin:0}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}\
td:first-child{white-space:nowrap}\
.source,.detail,.files,details{color:var(--faint)}.detail,.files,details{font-size:.9rem}\
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1rem}\
figure{margin:0}svg{width:100%;height:auto;max-width:40rem}\
.claim{border-left:3px solid var(--line);padding-left:1rem;margin:1.2rem 0}.claim p{margin:.3rem 0}\
.badge{font-weight:600}.holds{color:var(--good)}.fails,.failure{color:var(--bad)}.note{font-style:italic}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0}";

const DARK: &str = ":root{--paper:#181b1f;--ink:#e4e6e8;--faint:#a2a8ae;--line:#3a3f45;--good:#35c49a;--bad:#f28c45}";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::figures::FIGURES;
    use crate::reproduce::results::tests::{QUICK, made_up};

    fn page(figures: &[RequestedFigure]) -> String {
        let host = Host::detect();
        let header =
            PageHeader { host: &host, date: "a <date> & time".to_owned(), scale: &QUICK, took: Duration::ZERO };
        render(&header, figures).expect("a page")
    }

    fn requested(number: usize, state: State) -> RequestedFigure {
        let results = made_up(FIGURES[number], |made| 20.0 + made.way);
        RequestedFigure { figure: FIGURES[number], results, state, took: Duration::from_secs(7) }
    }

    #[test]
    fn every_figure_has_its_section_with_drawings_claims_and_commands() {
        let figures: Vec<_> = (0..FIGURES.len()).map(|number| requested(number, State::Done)).collect();
        let page = page(&figures);
        for figure in FIGURES {
            assert!(page.contains(&format!("<section id=\"{}\">", figure.id)), "{}", figure.id);
            assert!(page.contains(&format!("href=\"{}.csv\"", figure.id)), "{}", figure.id);
            let plan = (figure.plan)(&QUICK);
            for panel in &plan.panels {
                for command in panel.commands(&panel.points[panel.points.len() - 1], &plan, &QUICK) {
                    assert!(page.contains(&command), "{command}");
                }
            }
        }
        let panels: usize = figures.iter().map(|requested| requested.results.plan.panels.len()).sum();
        assert_eq!(page.matches("<svg").count(), panels);
        let claims: usize = FIGURES.iter().map(|figure| figure.claims.len()).sum();
        assert_eq!(page.matches("holds here").count() + page.matches("does not hold here").count(), claims);
        let weaker = FIGURES.iter().flat_map(|figure| figure.claims).filter(|claim| claim.weaker.is_some()).count();
        assert_eq!(page.matches("Weaker than the paper: ").count(), weaker);
        assert_eq!(page.matches("So much holds.").count() + page.matches("Not even that holds.").count(), weaker);
        assert!(weaker > 0 && page.contains("So much holds.") && page.contains("Not even that holds."));
    }

    #[test]
    fn what_comes_from_outside_is_escaped() {
        let page = page(&[requested(0, State::Failed("<script>alert('x' & \"y\")</script>".to_owned()))]);
        assert!(!page.contains("<script>"), "{page}");
        assert!(page.contains("&lt;script&gt;alert('x' &amp; &quot;y&quot;)&lt;/script&gt;"));
        assert!(page.contains("a &lt;date&gt; &amp; time"));
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let empty =
            |state| RequestedFigure { results: Results::new((FIGURES[0].plan)(&QUICK), &QUICK), ..requested(0, state) };
        for (state, expected) in [(State::Waiting, "Not measured yet."), (State::Interrupted, "Interrupted: ")] {
            let page = page(&[empty(state)]);
            assert!(page.contains(expected) && page.contains("not decided"), "{page}");
            assert!(!page.contains("<svg") && !page.contains("holds here"), "{page}");
        }
    }

    #[test]
    fn the_colours_of_the_dark_are_those_that_are_drawn() {
        let drawn: String = FIGURES
            .iter()
            .flat_map(|figure| {
                let results = made_up(figure, |made| 20.0 + made.way);
                (0..results.plan.panels.len()).map(move |panel| chart::draw(&results, panel).expect("a picture"))
            })
            .collect();
        let colours = drawn.split('"').filter(|text| text.starts_with('#'));
        for colour in colours {
            assert!(style().contains(&format!("[fill=\"{colour}\"]")), "{colour} stays as it is in the dark");
        }
    }
}
