#pragma once

namespace flywheel {

// The style sheet of report.html. Colors of curves and bars are classes s0 …
// s4, told apart by color-blind readers too, in light and in dark.
inline constexpr char kReportStyle[] = R"css(
:root { color-scheme: light dark;
  --page: #fafaf9; --card: #ffffff; --ink: #1c1917; --soft: #6b6560;
  --line: #e4e1dd; --good: #15803d; --bad: #b91c1c; --hold: #a16207;
  --s0: #2563eb; --s1: #d97706; --s2: #0f9b8e; --s3: #b5479b; --s4: #78716c; }
@media (prefers-color-scheme: dark) { :root {
  --page: #161514; --card: #211f1e; --ink: #f3f0ed; --soft: #a8a29e;
  --line: #3a3734; --good: #4ade80; --bad: #f87171; --hold: #fbbf24;
  --s0: #60a5fa; --s1: #f59e0b; --s2: #2dd4bf; --s3: #e879c9; --s4: #8f8781; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 20px 60px;
  background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 26px; margin: 0; line-height: 1.2; }
h2 { font-size: 18px; margin: 36px 0 12px; }
.sub { color: var(--soft); margin: 4px 0 0; }
.state { display: inline-block; font-size: 13px; font-weight: 600;
  border: 1px solid currentColor; border-radius: 99px; padding: 1px 10px;
  margin-left: 10px; vertical-align: 4px; }
.good { color: var(--good); } .bad { color: var(--bad); }
.hold { color: var(--hold); }
.note { border-left: 3px solid var(--bad); padding: 2px 12px; margin: 14px 0; }
.cards { display: grid; gap: 12px; margin: 22px 0 0;
  grid-template-columns: repeat(auto-fill, minmax(min(230px, 100%), 1fr)); }
.card, figure, .panel { background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
.card { padding: 12px 16px; }
.card b { display: block; font-size: 25px; line-height: 1.25; font-weight: 650;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.card span { color: var(--soft); font-size: 13px; display: block; }
.charts { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fill, minmax(min(460px, 100%), 1fr)); }
figure { margin: 0; padding: 14px 16px 10px; min-width: 0; }
figcaption { font-weight: 600; }
.legend { margin: 2px 0 8px; color: var(--soft); font-size: 13px;
  display: flex; flex-wrap: wrap; gap: 2px 16px; min-height: 20px; }
.legend b { color: var(--ink); font-weight: 600; }
.key { display: inline-block; width: 14px; height: 3px; border-radius: 2px;
  margin-right: 6px; vertical-align: 4px; background: var(--c); }
.key.round { width: 9px; height: 9px; border-radius: 9px; vertical-align: 0; }
.key.block { width: 11px; height: 11px; vertical-align: -1px; }
.key.dashed { background: none; border-top: 2px dashed var(--soft);
  height: 0; }
.none { color: var(--soft); margin: 8px 0; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 13px; }
.grid { stroke: var(--line); stroke-width: 1; }
.limit { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 6 4; }
.curve { fill: none; stroke: var(--c); stroke-width: 1.8;
  stroke-linejoin: round; }
.dot { fill: var(--c); stroke: var(--card); stroke-width: 1.5; }
.s0 { --c: var(--s0); } .s1 { --c: var(--s1); } .s2 { --c: var(--s2); }
.s3 { --c: var(--s3); } .s4 { --c: var(--s4); }
.panel { padding: 14px 16px; overflow-x: auto; }
.stage { display: grid; grid-template-columns: 84px 1fr; gap: 10px;
  align-items: center; margin: 8px 0; }
.bar { display: flex; gap: 2px; height: 22px; border-radius: 5px;
  overflow: hidden; background: var(--line); }
.bar i { display: block; background: var(--c); min-width: 0; }
table { border-collapse: collapse; width: 100%;
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 5px 12px; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; font-size: 13px; }
th:first-child, td:first-child, .text { text-align: left; }
tr:last-child td { border-bottom: 0; }
pre { margin: 0; font: 13px/1.55 ui-monospace, Menlo, Consolas, monospace; }
summary { cursor: pointer; font-weight: 600; }
details pre { margin-top: 12px; }
)css";

}  // namespace flywheel
