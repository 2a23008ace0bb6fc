// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pictures that a page draws, see page.hpp for their JSON. Law: a picture has one element of class "mark" for each item:
// a span or gap of a timeline, a kind of areas, a part of each row of bars, a cell of a matrix.

namespace hyperparallel { inline namespace v0_2 { namespace report { namespace detail {

inline constexpr const char* page_pictures = R"script(
draw.timeline = picture => {
  const row_height = 30, bottom = picture.rows.length * row_height + 6;
  const {frame, drawn} = section(picture);
  drawn.setAttribute("viewBox", `0 0 ${wide} ${bottom + 26}`);
  const view = view_of(picture), marks = [], inside = svg("g"), below = svg("g");
  picture.rows.forEach((name, row) => drawn.append(svg("text", {x: 4, y: row * row_height + 20}, short(name, 18))));
  const when = (start, duration) => `${words(start, picture.unit)} to ${words(start + duration, picture.unit)}, ${words(duration, picture.unit)}`;
  const add = (kind, row, start, duration, text, group, label) => {
    const element = svg("rect", {class: "mark " + kind, y: row * row_height + 3, height: row_height - 6});
    if (group >= 0) element.style.fill = colour(group);
    marks.push({element, start, end: start + duration, text, label, row, group});
    drawn.append(element);
  };
  for (const [row, start, duration, text] of picture.gaps || [])
    add("gap", row, start, duration, `${text}\n${when(start, duration)}`, -1, text);
  for (const [row, group, name, start, duration, ...more] of picture.spans)
    add("span", row, start, duration,
        [picture.names[name], picture.groups[group] + more.map((v, k) => `, ${picture.details[k]} ${v}`).join(""), when(start, duration)].join("\n"),
        group, picture.names[name]);
  drawn.append(inside, below);
  view.listeners.push(() => {
    inside.replaceChildren();
    for (const mark of marks) {
      const a = at_time(view, mark.start), b = at_time(view, mark.end);
      const from = Math.max(a, left), to = Math.min(b, left + inner), seen = b >= left && a <= left + inner;
      mark.element.style.display = seen ? "" : "none";
      if (!seen) continue;
      fill(mark.element, {x: from.toFixed(2), width: Math.max(to - from, 0.3).toFixed(2)}, []);
      mark.element.style.strokeWidth = to - from > 3 ? "" : "0";
      if (to - from > 46 && !mark.element.classList.contains("gap"))
        inside.append(svg("text", {class: "inside" + (is_dark(mark.group) ? " light" : ""), x: from + 4, y: mark.row * row_height + 19}, short(mark.label, Math.floor((to - from) / 6.3))));
    }
    below.replaceChildren(time_axis(view, bottom, picture.unit));
    drawn.setAttribute("data-view", `${view.from} ${view.to}`);
  });
  const bar = html("div", {class: "bar"});
  add_zoom(bar, drawn, view);
  const search = html("input", {type: "search", "aria-label": "search names"});
  const count = html("span", {class: "count", role: "status"});
  let found = [], at = -1;
  search.addEventListener("input", () => {
    const text = search.value.trim().toLowerCase();
    found = text ? marks.filter(mark => mark.text.toLowerCase().includes(text)) : [];
    at = -1;
    for (const mark of marks) {
      mark.element.classList.toggle("dim", text !== "");
      mark.element.classList.remove("found");
    }
    for (const mark of found) {
      mark.element.classList.remove("dim");
      mark.element.classList.add("found");
    }
    const sum = found.reduce((all, mark) => all + mark.end - mark.start, 0);
    count.textContent = text ? `${found.length} of ${marks.length}, ${words(sum, picture.unit)} together` : "";
  });
  search.addEventListener("keydown", e => {
    if (e.key !== "Enter" || found.length === 0) return;
    const mark = found[at = (at + 1) % found.length], half = Math.max(mark.end - mark.start, view.total * 1e-5) * 4;
    set_view(view, mark.start - half, mark.end + half);
  });
  bar.append(html("label", {}, "search ", search), count);
  watch_marks(drawn, marks);
  const used = [...new Set(picture.spans.map(span => span[1]))].sort((a, b) => a - b);
  frame.append(bar, drawn, legend(used.map(group => [picture.groups[group], group])),
               html("p", {class: "hint"}, "Drag to zoom in, or + and \u2212, or Ctrl with the wheel; arrow keys walk the marks; Enter in the search goes to the next one found."));
  return frame;
};

draw.areas = picture => {
  const high = 220, bottom = high + 14, points = picture.points;
  const {frame, drawn} = section(picture);
  drawn.setAttribute("viewBox", `0 0 ${wide} ${bottom + 26}`);
  const view = view_of(picture), limit = picture.limit, even = new Set(picture.evenly || []);
  const total = point => point.slice(1).reduce((a, b) => a + b, 0);
  const top = Math.max(...points.map(total), limit ? limit.value : 0) * 1.05 || 1;
  const y_of = value => 10 + high - value / top * high;
  const scale = svg("g", {class: "axis"});
  for (const value of ticks(0, top, 6, picture.unit))
    scale.append(svg("line", {x1: left, x2: left + inner, y1: y_of(value), y2: y_of(value)}),
                 svg("text", {x: left - 6, y: y_of(value) + 4, "text-anchor": "end"}, words(value, picture.unit)));
  drawn.append(scale);
  const paths = picture.kinds.map((kind, k) => svg("path", {class: "mark area", style: `fill:${colour(k)}`, "data-name": kind}));
  const below = svg("g"), cursor = svg("line", {class: "cursor", y1: 10, y2: 10 + high, visibility: "hidden"});
  drawn.append(...paths, below);
  if (limit)
    drawn.append(svg("line", {class: "limit", x1: left, x2: left + inner, y1: y_of(limit.value), y2: y_of(limit.value)}),
                 svg("text", {x: left + inner - 4, y: y_of(limit.value) - 4, "text-anchor": "end"}, `${limit.name}, ${words(limit.value, picture.unit)}`));
  drawn.append(cursor);
  const last_before = time => {
    let low = 0, up = points.length - 1;
    while (low < up) { const middle = (low + up + 1) >> 1; if (points[middle][0] <= time) low = middle; else up = middle - 1; }
    return low;
  };
  const held = (at, time) => {  // amounts of each kind
    const now = points[at].slice(1), next = points[at + 1];
    if (!even.has(at) || !next) return now;
    const share = (time - points[at][0]) / (next[0] - points[at][0] || 1);
    return now.map((value, k) => value + (next[k + 1] - value) * share);
  };
  view.listeners.push(() => {
    const first = last_before(view.from);
    let last = first;
    while (last + 1 < points.length && points[last + 1][0] < view.to) ++last;
    const edge = count => {  // the sum of the first kinds, from left to right
      const out = [];
      for (let at = first; at <= last; ++at) {
        const from = Math.max(points[at][0], view.from), to = at < last ? points[at + 1][0] : view.to;
        for (const time of [from, Math.max(from, to)])
          out.push([at_time(view, time).toFixed(2), y_of(held(at, time).slice(0, count).reduce((a, b) => a + b, 0)).toFixed(2)]);
      }
      return out;
    };
    let under = edge(0);
    paths.forEach((path, k) => {
      const over = edge(k + 1);
      path.setAttribute("d", "M" + over.concat([...under].reverse()).map(p => p.join(" ")).join("L") + "Z");
      under = over;
    });
    below.replaceChildren(time_axis(view, 10 + high, picture.x_unit));
    for (const [start, duration, text] of picture.gaps || []) {
      const a = Math.max(at_time(view, start), left), b = Math.min(at_time(view, start + duration), left + inner);
      if (b <= a) continue;
      below.append(svg("rect", {class: "gap", x: a, width: b - a, y: 10, height: high, "pointer-events": "none"}));
      if (b - a > 80) below.append(svg("text", {x: a + 6, y: 64}, short(text, Math.floor((b - a) / 6.5))));
    }
    drawn.setAttribute("data-view", `${view.from} ${view.to}`);
  });
  let now = -1;
  const tell = (at, time, x, y) => {
    now = at;
    const amounts = held(at, time), place = Math.min(Math.max(at_time(view, time), left), left + inner);
    fill(cursor, {x1: place, x2: place, visibility: "visible"}, []);
    show_tip([`at ${words(time, picture.x_unit)}: ${words(amounts.reduce((a, b) => a + b, 0), picture.unit)}`,
              ...picture.kinds.map((kind, k) => [kind, Math.round(amounts[k])]).filter(([, v]) => v > 0).map(([kind, v]) => `${kind} ${words(v, picture.unit)}`),
              ...(picture.labels ? [even.has(at) ? "between layers that are alike" : picture.labels[at]] : [])].join("\n"), x, y);
  };
  const leave = () => { cursor.setAttribute("visibility", "hidden"); hide_tip(); now = -1; };
  drawn.addEventListener("pointermove", e => {
    const box = drawn.getBoundingClientRect(), x = (e.clientX - box.left) * wide / box.width;
    if (x < left || x > left + inner) return leave();
    const time = Math.max(view.from + (x - left) / inner * (view.to - view.from), points[0][0]);
    tell(last_before(time), time, e.clientX, e.clientY);
  });
  drawn.addEventListener("pointerleave", leave);
  drawn.addEventListener("blur", leave);
  drawn.addEventListener("keydown", e => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    e.preventDefault();
    const at = now < 0 ? last_before(view.from) : Math.min(Math.max(now + step, 0), points.length - 1), box = drawn.getBoundingClientRect();
    tell(at, points[at][0], box.left + at_time(view, points[at][0]) * box.width / wide, box.top + 40);
  });
  const bar = html("div", {class: "bar"});
  add_zoom(bar, drawn, view);
  frame.append(bar, drawn, legend(picture.kinds.map((kind, k) => [kind, k])));
  return frame;
};

draw.bars = picture => {
  const row_height = 26, name_width = 330, room = wide - name_width - 90;
  const {frame, drawn} = section(picture);
  drawn.setAttribute("viewBox", `0 0 ${wide} ${picture.rows.length * row_height + 6}`);
  const sum = row => row.values.reduce((a, b) => a + b, 0), limit = picture.limit;
  const top = Math.max(...picture.rows.map(sum), limit ? limit.value : 0) || 1, marks = [];
  picture.rows.forEach((row, at) => {
    const y = at * row_height;
    let x = name_width;
    drawn.append(svg("text", {x: name_width - 8, y: y + 18, "text-anchor": "end"}, short(row.name, 52)));
    row.values.forEach((value, part) => {
      const width = value / top * room;
      const element = svg("rect", {class: "mark", x: x.toFixed(2), width: width.toFixed(2), y: y + 4, height: row_height - 8, style: `fill:${colour(part)}`});
      marks.push({element, text: `${row.name}\n${picture.parts[part]} ${words(value, picture.unit)}, ${(100 * value / (sum(row) || 1)).toFixed(2)} %\nall ${words(sum(row), picture.unit)}`});
      drawn.append(element);
      x += width;
    });
    drawn.append(svg("text", {x: x + 6, y: y + 18}, words(sum(row), picture.unit)));
  });
  if (limit) {
    const x = name_width + limit.value / top * room;
    drawn.append(svg("line", {class: "limit", x1: x, x2: x, y1: 0, y2: picture.rows.length * row_height + 4}, svg("title", {}, `${limit.name}, ${words(limit.value, picture.unit)}`)));
  }
  watch_marks(drawn, marks);
  frame.append(drawn, legend(picture.parts.map((part, k) => [part, k])));
  if (limit) frame.append(html("p", {class: "hint"}, `The dashed line is ${limit.name}, ${words(limit.value, picture.unit)}.`));
  return frame;
};

draw.matrix = picture => {
  const {rows, columns, values, texts} = picture, name_width = 190, row_height = 28;
  const cell_width = Math.min(150, (wide - name_width) / columns.length), top = 26 + (picture.column_name ? 16 : 0);
  const {frame, drawn} = section(picture);
  drawn.setAttribute("viewBox", `0 0 ${wide} ${top + rows.length * row_height + 6}`);
  const most = Math.max(...values.flat()) || 1, marks = [];
  if (picture.column_name) drawn.append(svg("text", {class: "faint", x: name_width, y: 13}, picture.column_name));
  if (picture.row_name) drawn.append(svg("text", {class: "faint", x: name_width - 8, y: top - 7, "text-anchor": "end"}, picture.row_name));
  columns.forEach((name, j) => drawn.append(
    svg("text", {x: name_width + (j + 0.5) * cell_width, y: top - 7, "text-anchor": "middle"}, short(name, Math.max(2, Math.floor(cell_width / 7.4))))));
  rows.forEach((name, i) => {
    const y = top + i * row_height;
    drawn.append(svg("text", {x: name_width - 8, y: y + 18, "text-anchor": "end"}, short(name, 28)));
    columns.forEach((column, j) => {
      const value = values[i][j], x = name_width + j * cell_width, share = value / most;
      const text = texts ? texts[i][j] : value > 0 ? words(value, picture.unit) : "";
      const element = svg("rect", {class: "mark", x: x + 1, y: y + 1, width: cell_width - 2, height: row_height - 2,
                                   style: texts ? "fill:var(--c4)" : `fill:var(--c0);fill-opacity:${(0.12 + 0.88 * share).toFixed(3)}`});
      if (value === 0) fill(element, {style: "fill:none;pointer-events:all"}, []);
      marks.push({element, text: [`${picture.row_name || ""} ${name}`, `${picture.column_name || ""} ${column}`, text || words(value, picture.unit)].map(t => t.trim()).join("\n")});
      drawn.append(element);
      if (cell_width > 40)
        drawn.append(svg("text", {class: value === 0 ? "" : texts ? "inside" : share > 0.5 ? "inside light" : "", "pointer-events": "none",
                                  x: x + cell_width / 2, y: y + 18, "text-anchor": "middle"}, short(text, Math.floor(cell_width / 6.3))));
    });
  });
  watch_marks(drawn, marks);
  frame.append(drawn);
  return frame;
};
)script";

/// Runs behind all pictures.
inline constexpr const char* page_end = R"script(
const pictures = document.getElementById("pictures");
for (const picture of data.pictures || []) pictures.append(draw[picture.kind](picture));
for (const view of Object.values(views)) set_view(view, 0, view.total);
document.getElementById("figures").append(figures("", data));
)script";

}}}}  // namespace hyperparallel::v0_2::report::detail
