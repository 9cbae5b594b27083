#include "data/reader/json_members.h"

#include <cstddef>

#include "data/read_options.h"
#include "data/reader/json_string.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

// Walks a line without recursion: what is open decides what a comma is followed by.
class JsonWalk {
 public:
  JsonWalk(std::span<const std::string> names, std::span<std::string> texts) : names_(names), texts_(texts) {}

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
    std::string_view text;
    if (*p == '"') {
      if (!read_json_string(p, text, scratch_, error_)) return false;
    } else {
      const char* const begin = p;
      while (*p != ',' && *p != '}' && *p != ']' && !ends_token(*p)) ++p;
      text = {begin, static_cast<std::size_t>(p - begin)};
      if (text.empty()) return false;
      if (text == "null") text = {};
    }
    if (!open_.back().object) return true;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == path_) texts_[i] = text;
    }
    return true;
  }

  const std::span<const std::string> names_;
  const std::span<std::string> texts_;
  std::string path_, scratch_;
  RowError error_;
  std::vector<Opened> open_;
};

}  // namespace

void find_json_members(std::string_view line, std::span<const std::string> names,
                       std::span<std::string> texts) {
  for (std::string& text : texts) text.clear();
  const std::string padded = std::string(line) + std::string(kTextPad, '\0');
  JsonWalk(names, texts).walk(padded.data());
}

}  // namespace thalweg
