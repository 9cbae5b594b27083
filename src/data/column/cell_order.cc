#include "data/column/cell_order.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "data/read_options.h"

namespace thalweg {
namespace {

class ReorderedCells final : public ByteStream {
 public:
  ReorderedCells(std::string begin, std::unique_ptr<ByteStream> rest, CellOrder order)
      : text_(std::move(begin)), rest_(std::move(rest)), order_(std::move(order)) {
    take_lines();
  }

  Result<std::size_t> read(char* to, std::size_t size) override {
    while (given_ == ready_.size() && !ended_) {
      ready_.clear(), given_ = 0;
      if (Status status = read_on(); !status.ok()) return status;
    }
    const std::size_t count = std::min(size, ready_.size() - given_);
    std::memcpy(to, ready_.data() + given_, count);
    given_ += count;
    return count;
  }
  void give_way() override { rest_->give_way(); }
  std::uint64_t bytes_consumed() const override { return rest_->bytes_consumed(); }
  Packing packing() const override { return rest_->packing(); }

 private:
  Status read_on() {
    const std::size_t before = text_.size();
    text_.resize(before + kStreamChunkBytes);
    const auto count = rest_->read(text_.data() + before, kStreamChunkBytes);
    text_.resize(before + (count ? *count : 0));
    if (!count) return count.status();
    ended_ = *count == 0;
    if (ended_ && !text_.empty()) {
      text_ += '\n';
      take_lines();
      ready_.pop_back();  // As the file has it.
    }
    // Of a longer one it is enough that it is refused where rows are read.
    if (text_.size() > kMaxLineBytes) ready_ += std::exchange(text_, {});
    if (*count > 0) take_lines();
    return ok_status();
  }

  // All whole lines of text_.
  void take_lines() {
    const std::size_t size = text_.rfind('\n') + 1;  // npos + 1 is 0.
    for (std::size_t at = 0; at < size;) {
      const std::size_t next = text_.find('\n', at) + 1;
      add_line(std::string_view(text_).substr(at, next - at));
      at = next;
    }
    text_.erase(0, size);
  }

  void add_line(std::string_view line) {
    if (ready_.empty() && is_first_ && line.starts_with("\xef\xbb\xbf")) {
      ready_ += line.substr(0, 3);
      line.remove_prefix(3);
    }
    is_first_ = false;
    cells_.clear();
    const char* const end = line.data() + line.size() - 1;
    const bool carriage_return = end > line.data() && end[-1] == '\r';
    for (const char* p = line.data();; ++p) {
      const char* const begin = p;
      std::string_view cell;
      if (!next_cell(p, order_.separator, cell, scratch_)) break;
      const char* const cell_end = p == end && carriage_return ? p - 1 : p;
      cells_.emplace_back(begin, static_cast<std::size_t>(cell_end - begin));
      if (p == end) break;
    }
    if (cells_.size() != order_.places.size() || cells_.back().end() != end - (carriage_return ? 1 : 0)) {
      ready_ += line;
      return;
    }
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      if (c > 0) ready_ += order_.separator;
      ready_ += cells_[order_.places[c]];
    }
    ready_ += carriage_return ? "\r\n" : "\n";
  }

  std::string text_;   // Read and not yet whole lines.
  std::string ready_;  // Lines in order, of which given_ bytes have been read.
  std::size_t given_ = 0;
  bool ended_ = false, is_first_ = true;
  const std::unique_ptr<ByteStream> rest_;
  const CellOrder order_;
  std::vector<std::string_view> cells_;
  std::string scratch_;
};

}  // namespace

CellOrder cell_order(const Columns& first, const Columns& other) {
  CellOrder order{{}, other.separator};
  const bool comparable = first.header && other.header && first.separator == other.separator &&
                          first.list.size() == other.list.size();
  if (!comparable) return order;
  bool same = true;
  for (const Column& column : first.list) {
    const auto found = std::find_if(other.list.begin(), other.list.end(),
                                    [&](const Column& c) { return c.name == column.name; });
    if (found == other.list.end()) return {{}, other.separator};
    const auto place = static_cast<std::size_t>(found - other.list.begin());
    same = same && place == order.places.size();
    order.places.push_back(place);
  }
  if (same) order.places.clear();
  return order;
}

std::unique_ptr<ByteStream> in_order(std::string begin, std::unique_ptr<ByteStream> rest, CellOrder order) {
  return std::make_unique<ReorderedCells>(std::move(begin), std::move(rest), std::move(order));
}

}  // namespace thalweg
