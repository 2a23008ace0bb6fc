// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_plan.hpp"

#include <charconv>

namespace hp_tool::launch {

launch_change change_of(const launch_text& from, const launch_text& to) {
  struct entry {
    std::string section, name, line;
  };
  const auto entries_of = [](const launch_text& text) {
    std::vector<entry> out;
    std::string section;
    for (const std::string& line : text.lines)
      if (line.starts_with("["))
        section = line;
      else if (!line.empty())
        out.push_back({section, line.substr(0, line.find_first_of(" =:")), line});
    return out;
  };
  const std::vector<entry> old = entries_of(from), fresh = entries_of(to);
  const auto has = [](const std::vector<entry>& all, const entry& e, std::string entry::* what) {
    for (const entry& other : all)
      if (other.section == e.section && other.*what == e.*what) return true;
    return false;
  };
  launch_change out;
  std::string section;
  for (const entry& e : fresh) {
    if (has(old, e, &entry::line)) continue;
    if (e.section != section) out.given.push_back(section = e.section);
    out.given.push_back(e.line);
  }
  for (const entry& e : old)
    if (!has(fresh, e, &entry::name)) out.dropped.push_back(e.section + (e.section.empty() ? "" : " ") + e.name);
  return out;
}

std::string share_of_per_mille(int per_mille) {
  if (per_mille == 1000) return "1.0";
  std::string digits = std::to_string(1000 + per_mille).substr(1);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return "0." + digits;
}

std::string on_one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = '?';
  return text;
}

launch_book::launch_book(const std::vector<launch_option>& given, const std::string& path, const char* dashes,
                         same_option twice)
    : path_(path), dashes_(dashes) {
  for (const launch_option& o : given) {
    const auto [at, fresh] = option_.try_emplace(o.name, o);
    if (fresh) continue;
    if (twice == same_option::refused) refuse(o, "stands twice; it is in " + place(at->second) + ", too");
    at->second = o;
    out_.notes.push_back(dashes_ + o.name + " stands twice; that of " + place(o) + " counts");
  }
}

launch_book::option launch_book::find(const char* name) {
  heeded_[name] = true;
  const auto at = option_.find(name);
  return at == option_.end() ? nullptr : &at->second;
}

std::string launch_book::word(const char* name) {
  const option o = find(name);
  return o == nullptr || o->values.empty() ? std::string() : o->values[0];
}

int launch_book::number(const char* name, int otherwise, int least) {
  const option o = find(name);
  if (o == nullptr) return otherwise;
  const std::string text = o->values.empty() ? std::string() : o->values[0];
  if (text.starts_with("$")) refuse(*o, "the file does not say what " + text + " is");
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > largest_plan_number)
    refuse(*o, "expected a whole number from " + std::to_string(least) + " to " + std::to_string(largest_plan_number));
  return value;
}

int launch_book::per_mille(const launch_option& o) const {
  const std::string text = o.values.empty() ? std::string() : o.values[0];
  double share = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc() || end != text.data() + text.size() || !(share >= 0 && share <= 1))
    refuse(o, "expected a share from 0 to 1");
  return static_cast<int>(share * 1000 + 0.5);
}

std::string launch_book::said(const launch_option& o) const {
  std::string text = dashes_ + o.name;
  for (const std::string& v : o.values) text += " " + v;
  return on_one_line(std::move(text));
}

std::string launch_book::place(const launch_option& o) {
  return (o.file.empty() ? "" : on_one_line(o.file) + ", ") + "line " + std::to_string(o.line);
}

void launch_book::refuse(const launch_option& o, const std::string& why) const {
  throw io_error("read", file_of(o), placed(o, why));
}

void launch_book::contradict(const launch_option& o, const std::string& why, bool of_line) {
  if (!contradiction_.empty()) return;
  contradiction_ = placed(o, why);
  contradicting_file_ = file_of(o);
  is_of_line_ = of_line;
}

void launch_book::check_world(const char* each, const char* nodes, extent_t world) {
  const extent_t of_node = number(each, 0);
  const std::string count = word(nodes);
  if (of_node == 0 || count.empty() || count.find_first_not_of("0123456789") != std::string::npos) return;
  const extent_t devices = of_node * number(nodes, 1);
  if (devices != world)
    contradict(*find(each),
               "with " + count + " nodes these are " + std::to_string(devices) + " devices; --devices is " +
                   std::to_string(world),
               false);
}

void launch_book::name_unheeded(const std::function<bool(const std::string&)>& is_idle) {
  for (const auto& [name, o] : option_)
    if (!heeded_.contains(name) && !is_idle(name)) out_.unheeded.push_back(told(o));
}

launch_plan launch_book::result() {
  if (!contradiction_.empty())
    throw launch_contradiction(contradicting_file_, contradiction_, is_of_line_, std::move(out_));
  return std::move(out_);
}

std::string launch_book::placed(const launch_option& o, const std::string& why) const {
  return "line " + std::to_string(o.line) + ": " + said(o) + ": " + why;
}

}  // namespace hp_tool::launch
