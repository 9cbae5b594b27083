// What a plan is made of, for those who leave out parts of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "thalweg/status.h"

namespace thalweg::sim {

// What is left of parts of a plan, by their names; 0: they are left out.
using Reductions = std::map<std::string, std::uint64_t>;
// "drop,workers=2"
std::string to_text(const Reductions& reductions);
Result<Reductions> parse_reductions(std::string_view text);

// How much a plan has of a part, and how little it may have.
struct Part {
  std::string_view name;
  std::uint64_t has = 0;
  std::uint64_t least = 0;
};

template <class P>
std::uint64_t least_none(const P&) {
  return 0;
}
template <class P>
std::uint64_t least_one(const P&) {
  return 1;
}

// The same of all plans of a kind; `leave` leaves so much.
template <class P>
struct Knob {
  std::string_view name;
  std::uint64_t (*has)(const P&);
  void (*leave)(P&, std::uint64_t);
  std::uint64_t (*least)(const P&) = least_none<P>;
};

// A kind of fault, or of load, that is there or not. `Place` finds it in a plan.
template <class P, class Place>
constexpr Knob<P> kind_part(std::string_view name, Place /*place*/) {
  return {name,
          [](const P& plan) {
            const auto& value = Place{}(plan);
            return std::uint64_t{value != std::decay_t<decltype(value)>{}};
          },
          [](P& plan, std::uint64_t) { Place{}(plan) = {}; }};
}

template <class P, class Place>
constexpr Knob<P> number_part(std::string_view name, Place /*place*/,
                              std::uint64_t (*least)(const P&) = least_none<P>) {
  return {name, [](const P& plan) { return std::uint64_t{Place{}(plan)}; },
          [](P& plan, std::uint64_t left) {
            auto& value = Place{}(plan);
            value = static_cast<std::decay_t<decltype(value)>>(left);
          },
          least};
}

// Things of which each may be left out alone, all but `least`: "fault.2" is the third as the seed has them.
template <class P>
struct Singles {
  std::string_view name;
  std::size_t least = 0;
  std::size_t (*has)(const P&) = [](const P&) { return std::size_t{0}; };
  void (*leave_out)(P&, std::size_t index) = nullptr;
};
template <class P, class Place>
constexpr Singles<P> single_parts(std::string_view name, std::size_t least, Place /*place*/) {
  return {name, least, [](const P& plan) -> std::size_t { return Place{}(plan).size(); },
          [](P& plan, std::size_t index) {
            auto& all = Place{}(plan);
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(index));
          }};
}

// Of a kind of plans. Each kind has parts_of(const P&), which gives them, beside its plan.
template <class P>
struct Parts {
  std::string_view what;  // "this seed's cluster", as those call it who are told of it.
  Singles<P> single;
  std::span<const Knob<P>> knobs;  // The largest first.
};

std::string single_name(std::string_view of, std::size_t index);
// kUsage, unless so much may be left of that part.
Status check_left(std::string_view what, const Part& part, std::uint64_t left);
Status unknown_part(std::string_view what, const Reductions& reductions, std::span<const Part> parts);

template <class P>
std::vector<std::string> single_names(const P& plan) {
  const Singles<P>& single = parts_of(plan).single;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < single.has(plan); ++i) names.push_back(single_name(single.name, i));
  return names;
}

// Beside those that are single: what `plan` has, and how little of it where there is only `left` of it now.
template <class P>
std::vector<Part> parts_in(const P& plan, const P& left) {
  std::vector<Part> parts;
  for (const Knob<P>& knob : parts_of(plan).knobs)
    parts.push_back({knob.name, knob.has(plan), knob.least(left)});
  return parts;
}

// kUsage: a part that this plan does not have, or has less of, or cannot be without.
template <class P>
Status reduce(P& plan, const Reductions& reductions) {
  const Parts<P>& all = parts_of(plan);
  const P whole = plan;
  std::size_t known = 0;
  const std::vector<std::string> names = single_names(whole);
  for (std::size_t i = names.size(); i-- > 0;) {
    const auto out = reductions.find(names[i]);
    if (out == reductions.end() || out->second != 0) continue;
    const Part part = {all.single.name, names.size(), all.single.least};
    if (const Status may = check_left(all.what, part, all.single.has(plan) - 1); !may.ok()) return may;
    all.single.leave_out(plan, i);
    ++known;
  }
  for (const Knob<P>& knob : all.knobs) {
    const auto found = reductions.find(std::string(knob.name));
    if (found == reductions.end()) continue;
    const Part part = {knob.name, knob.has(whole), knob.least(plan)};
    if (const Status may = check_left(all.what, part, found->second); !may.ok()) return may;
    if (found->second < knob.has(plan)) knob.leave(plan, found->second);
    ++known;
  }
  if (known == reductions.size()) return ok_status();
  return unknown_part(all.what, reductions, parts_in(whole, plan));
}

}  // namespace thalweg::sim
