// Does what a sanitizer reports: `faulty address|undefined|thread`.
#include <climits>
#include <string_view>
#include <thread>

namespace {

int shared = 0;

void race() {
  std::thread other([] { ++shared; });
  ++shared;
  other.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  volatile int at = argc;
  if (what == "address") {
    const int* volatile const two = new int[2]{1, 2};
    return two[at];
  }
  if (what == "undefined") return at + INT_MAX;
  if (what == "thread") race();
  return 0;
}
