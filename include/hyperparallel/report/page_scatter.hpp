// SPDX-License-Identifier: Apache-2.0
#pragma once
// The picture "scatter" of a page, see page.hpp for its JSON: two amounts of each item against each other, on logarithmic scales of one
// range, with the diagonal and lines a share beside it. Law: a dot of class "mark" for each item; one with equal amounts lies on
// the diagonal.

namespace hyperparallel { inline namespace v0_2 { namespace report { namespace detail {

inline constexpr const char* page_scatter = R"script(
// Between powers of ten: these, where there are few with 2 and 5 times of each; of bytes powers of two, 8 or fewer steps.
function round_values(low, high, unit) {
  const out = [], two = Math.log10(2), step = Math.max(1, Math.ceil((high - low) / two / 8));
  if (unit === "bytes") {
    for (let k = Math.ceil(low / two / step); k * step * two <= high; ++k) out.push(2 ** (k * step));
    return out;
  }
  for (let power = Math.floor(low); power <= high; ++power)
    for (const times of high - low < 2 ? [1, 2, 5] : [1])
      if (power + Math.log10(times) >= low && power + Math.log10(times) <= high) out.push(times * 10 ** power);
  return out;
}

draw.scatter = picture => {
  const {dots, groups, band = 0} = picture, side = 560, top = 10;
  const {frame, drawn} = section(picture);
  drawn.setAttribute("viewBox", `0 0 ${wide} ${top + side + 44}`);
  const all = dots.flatMap(dot => [dot[0], dot[1]]), low = Math.log10(Math.min(...all)) - 0.1, high = Math.log10(Math.max(...all)) + 0.1;
  const at = value => (Math.log10(value) - low) / (high - low) * side;
  const x_of = value => left + at(value), y_of = value => top + side - at(value);
  const axis = svg("g", {class: "axis"});
  for (const value of round_values(low, high, picture.unit))
    axis.append(svg("line", {x1: x_of(value), x2: x_of(value), y1: top, y2: top + side}),
                svg("line", {x1: left, x2: left + side, y1: y_of(value), y2: y_of(value)}),
                svg("text", {x: x_of(value), y: top + side + 16, "text-anchor": "middle"}, words(value, picture.unit)),
                svg("text", {x: left - 6, y: y_of(value) + 4, "text-anchor": "end"}, words(value, picture.unit)));
  const from = 10 ** low, to = 10 ** high;
  const beside = (share, dashed) => {  // y = x (1 + share), within the picture
    const a = Math.max(from, from / (1 + share)), b = Math.min(to, to / (1 + share));
    return svg("line", {class: dashed ? "limit" : "cursor", x1: x_of(a), y1: y_of(a * (1 + share)), x2: x_of(b), y2: y_of(b * (1 + share))});
  };
  drawn.append(axis, beside(0, false), ...(band > 0 ? [beside(band, true), beside(-band, true)] : []),
               svg("text", {class: "faint", x: left + side, y: top + side + 34, "text-anchor": "end"}, picture.x_name || ""),
               svg("text", {class: "faint", x: 4, y: top + 14}, picture.y_name || ""));
  const marks = dots.map(([x, y, group, text]) => {
    const element = svg("circle", {class: "mark", cx: x_of(x).toFixed(2), cy: y_of(y).toFixed(2), r: 4, style: `fill:${colour(group)};fill-opacity:0.8`});
    drawn.append(element);
    const off = 100 * (y / x - 1);
    return {element, text: [text, groups[group], `${picture.x_name || ""} ${words(x, picture.unit)}, ${picture.y_name || ""} ${words(y, picture.unit)}`,
                            (off < 0 ? "\u2212" : "+") + Math.abs(off).toFixed(1) + " %"].join("\n")};
  });
  watch_marks(drawn, marks);
  const used = [...new Set(dots.map(dot => dot[2]))].sort((a, b) => a - b);
  frame.append(drawn, legend(used.map(group => [groups[group], group])));
  return frame;
};
)script";

}}}}  // namespace hyperparallel::v0_2::report::detail
