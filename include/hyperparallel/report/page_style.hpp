// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a page looks, see page.hpp: light and dark as the reader's system is, nothing that is fetched.

namespace hyperparallel { inline namespace v0_2 { namespace report { namespace detail {

inline constexpr const char* page_style = R"style(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1b1f; --faint: #5c5c66; --line: #c9c9d1; --panel: #f5f5f8; --mark-line: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16161a; --ink: #ececf1; --faint: #a5a5b2; --line: #44444f; --panel: #202027; --mark-line: #16161a; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 16px 20px 48px; background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 8px 0; }
h2 { font-size: 17px; margin: 0 0 2px; }
h3 { font-size: 14px; margin: 2px 0; }
p { margin: 2px 0 8px; }
.about, .hint, .count { color: var(--faint); font-size: 13px; }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; margin: 14px 0; overflow-x: auto; }
.bar { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; margin: 6px 0; }
button, input { font: inherit; font-size: 13px; color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 5px; padding: 3px 9px; }
button.save { float: right; }
button:hover { border-color: var(--ink); }
:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
svg.picture { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; user-select: none; }
svg text { fill: var(--ink); }
svg .axis line, svg .axis path { stroke: var(--line); stroke-width: 1; fill: none; }
svg .axis text, svg .faint { fill: var(--faint); }
.mark { stroke: var(--mark-line); stroke-width: 0.5; }
.mark.dim { opacity: 0.15; }
.mark.found { stroke: var(--ink); stroke-width: 1.5 !important; }
.mark.now { stroke: var(--ink); stroke-width: 2.5 !important; }
.gap { fill: url("#hatch"); stroke: var(--line); stroke-width: 0.5; }
svg text.inside { fill: #000; pointer-events: none; font-size: 11px; }
svg text.light { fill: #fff; }
.figures { display: flex; flex-wrap: wrap; gap: 4px 36px; align-items: flex-start; }
.limit { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 6 4; }
.cursor { stroke: var(--ink); stroke-width: 1; }
.chosen { fill: var(--c0); opacity: 0.2; pointer-events: none; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; font-size: 13px; margin: 4px 0; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 5px; vertical-align: -1px; }
table { border-collapse: collapse; font-size: 13px; margin: 4px 0 8px; }
th, td { text-align: left; padding: 2px 12px 2px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
#tip { position: fixed; z-index: 9; max-width: 420px; pointer-events: none; background: var(--paper); border: 1px solid var(--ink); border-radius: 5px; padding: 5px 9px; font-size: 13px; white-space: pre-line; box-shadow: 0 2px 8px #0004; }
#tip[hidden] { display: none; }
)style";

}}}}  // namespace hyperparallel::v0_2::report::detail
