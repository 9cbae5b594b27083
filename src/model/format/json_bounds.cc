#include "model/format/json_bounds.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace thalweg {
namespace {

class Counter final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Counter(const JsonBounds& bounds) : bounds_(bounds) {}
  JsonFindings findings() && { return std::move(findings_); }

  bool null() override { return count_value(); }
  bool boolean(bool) override { return count_value(); }
  bool number_integer(number_integer_t) override { return count_value(); }
  bool number_unsigned(number_unsigned_t) override { return count_value(); }
  bool number_float(number_float_t, const string_t&) override { return count_value(); }
  bool string(string_t&) override { return count_value(); }
  bool binary(binary_t&) override { return count_value(); }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (name.size() > bounds_.name_bytes) {
      return stop(
          fmt::format("has a name of {} bytes, expected at most {}", name.size(), bounds_.name_bytes));
    }
    if (!names_.back().insert(name).second && findings_.repeated.empty()) findings_.repeated = name;
    if (names_.back().size() <= bounds_.names) return true;
    return stop(fmt::format("has more than {} names in one object", bounds_.names));
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool stop(std::string why) {
    findings_.exceeded = std::move(why);
    return false;
  }
  bool count_value() {
    if (++values_ <= bounds_.values) return true;
    return stop(fmt::format("has more than {} values", bounds_.values));
  }
  bool open() {
    if (names_.size() == bounds_.depth) return stop(fmt::format("nests deeper than {}", bounds_.depth));
    names_.emplace_back();
    return count_value();
  }
  bool close() {
    names_.pop_back();
    return true;
  }

  const JsonBounds& bounds_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> names_;  // By depth, of what is open.
  JsonFindings findings_;
};

}  // namespace

JsonFindings look_over(std::string_view text, const JsonBounds& bounds) {
  Counter counter(bounds);
  nlohmann::json::sax_parse(text, &counter);
  return std::move(counter).findings();
}

}  // namespace thalweg
