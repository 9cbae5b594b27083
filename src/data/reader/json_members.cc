#include "data/reader/json_members.h"

#include <cstddef>
#include <vector>

#include "data/read_options.h"
#include "data/reader/json_string.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

// Walks a line without recursion: what is open decides what a comma is followed by.
class JsonWalk {
 public:
  explicit JsonWalk(const std::function<void(const JsonScalar&)>& visit) : visit_(visit) {}

  void walk(const char* p) {
    p = skip_blanks(p);
    if (*p != '{') return;
    open(p);
    while (!open_.empty() && step(p)) p = skip_blanks(p);
  }

 private:
  struct Opened {
    bool object = false;
    std::size_t path = 0;  // Where path_ ended before.
  };

  void open(const char*& p) {
    open_.push_back({*p == '{', path_.size()});
    ++p;
  }

  void close(const char*& p) {
    path_.resize(open_.back().path);
    open_.pop_back();
    ++p;
  }

  // One value, or the end of what is open. False: the line has a fault.
  bool step(const char*& p) {
    if (*p == '}' || *p == ']') return close(p), true;
    if (*p == ',') return ++p, true;
    const std::size_t outer = open_.back().path;
    if (open_.back().object) {
      path_.resize(outer);
      std::string_view name;
      if (*p != '"' || !read_json_string(p, name, scratch_, error_)) return false;
      if (open_.size() > 1) path_ += '.';
      path_ += name;
      p = skip_blanks(p);
      if (*p != ':') return false;
      p = skip_blanks(p + 1);
    }
    if (*p == '{' || *p == '[') return open(p), true;
    return take_scalar(p);
  }

  bool take_scalar(const char*& p) {
    using Kind = JsonScalar::Kind;
    JsonScalar scalar{path_, {}, Kind::kString, !open_.back().object};
    if (*p == '"') {
      if (!read_json_string(p, scalar.text, scratch_, error_)) return false;
    } else {
      const char* const begin = p;
      while (*p != ',' && *p != '}' && *p != ']' && !ends_token(*p)) ++p;
      scalar.text = {begin, static_cast<std::size_t>(p - begin)};
      if (scalar.text.empty()) return false;
      scalar.kind = json_number_end(begin) == p ? Kind::kNumber : Kind::kWord;
      if (scalar.text == "null") scalar.text = {}, scalar.kind = Kind::kNull;
    }
    visit_(scalar);
    return true;
  }

  const std::function<void(const JsonScalar&)>& visit_;
  std::string path_, scratch_;
  RowError error_;
  std::vector<Opened> open_;
};

}  // namespace

void visit_json_scalars(const char* line, const std::function<void(const JsonScalar&)>& visit) {
  JsonWalk(visit).walk(line);
}

void find_json_members(std::string_view line, std::span<const std::string> names,
                       std::span<std::string> texts) {
  for (std::string& text : texts) text.clear();
  const std::string padded = std::string(line) + std::string(kTextPad, '\0');
  visit_json_scalars(padded.data(), [&](const JsonScalar& scalar) {
    for (std::size_t i = 0; i < names.size() && !scalar.in_array; ++i) {
      if (names[i] == scalar.path) texts[i] = scalar.text;
    }
  });
}

std::vector<std::string> members_without_values(std::string_view lines, std::vector<std::string> names) {
  const char* const end = lines.data() + lines.size();
  for (const char* p = lines.data(); p != end && !names.empty(); p = line_end(p, end) + 1) {
    visit_json_scalars(p, [&](const JsonScalar& s) {
      if (s.kind == JsonScalar::Kind::kNull) return;
      std::erase_if(names, [&](const std::string& name) {
        return s.path.starts_with(name) && (s.path.size() == name.size() || s.path[name.size()] == '.');
      });
    });
  }
  return names;
}

}  // namespace thalweg
