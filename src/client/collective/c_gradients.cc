// The C interface over Gradients.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "client/c_api.h"
#include "thalweg/gradients.h"

struct thalweg_gradients {
  thalweg::Gradients gradients;
};

namespace {

using namespace thalweg::c_api;  // NOLINT(google-build-using-namespace)
using thalweg::Code;
using thalweg::GradientOptions;
using thalweg::Status;

static_assert(static_cast<int>(GradientOptions::Fusion::kThreshold) == THALWEG_THRESHOLD);

thalweg::Result<GradientOptions> options_of(const thalweg_gradient_options* given) {
  if (!given) return GradientOptions{};
  if (given->struct_bytes != sizeof(thalweg_gradient_options)) {
    return Status(Code::kUsage,
                  "options.struct_bytes must be sizeof(thalweg_gradient_options) of this library, " +
                      std::to_string(sizeof(thalweg_gradient_options)));
  }
  if (static_cast<unsigned>(given->fusion) > THALWEG_THRESHOLD || !is_type(given->type) ||
      !is_reduction(given->reduction)) {
    return Status(Code::kUsage, "options.fusion, type or reduction is none that thalweg.h names");
  }
  if (!is_timeout(given->stall_seconds))
    return Status(Code::kUsage, "options.stall_seconds must be 0 or above");
  GradientOptions options;
  options.fusion = static_cast<GradientOptions::Fusion>(given->fusion);
  options.bucket_bytes = given->bucket_bytes;
  options.piece_bytes = given->piece_bytes;
  options.credit_bytes = given->credit_bytes;
  options.stall_timeout = nanoseconds_of(given->stall_seconds);
  options.type = static_cast<thalweg::DataType>(given->type);
  options.reduction = static_cast<thalweg::Reduction>(given->reduction);
  if (given->codec) options.codec = given->codec;
  return options;
}

// What a call on gradients that are there comes to.
template <class Body>
thalweg_code with(thalweg_gradients* gradients, const char* function, const Body& body) {
  if (!gradients) return wrong(std::string(function) + ": expected gradients");
  return guarded([&] { return report(body(gradients->gradients)); });
}

}  // namespace

thalweg_code thalweg_gradient_defaults(thalweg_fusion fusion, thalweg_gradient_options* options) {
  if (!options || static_cast<unsigned>(fusion) > THALWEG_THRESHOLD) {
    return wrong("thalweg_gradient_defaults: expected a way of fusion and where to put the options");
  }
  const GradientOptions found =
      fusion == THALWEG_THRESHOLD ? GradientOptions::threshold() : GradientOptions{};
  *options = {};
  options->struct_bytes = sizeof *options;
  options->fusion = fusion;
  options->bucket_bytes = found.bucket_bytes;
  options->piece_bytes = found.piece_bytes;
  options->credit_bytes = found.credit_bytes;
  options->stall_seconds = std::chrono::duration<double>(found.stall_timeout).count();
  options->type = static_cast<thalweg_type>(found.type);
  options->reduction = static_cast<thalweg_reduction>(found.reduction);
  return THALWEG_OK;
}

thalweg_code thalweg_gradients_create(thalweg_group* group, const thalweg_tensor* tensors, size_t count,
                                      const thalweg_gradient_options* options,
                                      thalweg_gradients** gradients) {
  if (!group || !tensors || !gradients) {
    return wrong("thalweg_gradients_create: expected a group, tensors and where to put the gradients");
  }
  *gradients = nullptr;
  return guarded([&] {
    auto how = options_of(options);
    if (!how) return report(how.status());
    std::vector<thalweg::GradientSpec> specs;
    for (size_t i = 0; i < count; ++i) {
      specs.push_back({tensors[i].name ? tensors[i].name : "", tensors[i].elements});
    }
    auto made = thalweg::Gradients::create(group->group, std::move(specs), *std::move(how));
    if (!made) return report(made.status());
    *gradients = new thalweg_gradients{*std::move(made)};
    return THALWEG_OK;
  });
}

void thalweg_gradients_destroy(thalweg_gradients* gradients) { delete gradients; }

void* thalweg_gradients_tensor(thalweg_gradients* gradients, size_t number) {
  if (!gradients || number >= gradients->gradients.size()) {
    return wrong("thalweg_gradients_tensor: there is no gradient " + std::to_string(number)), nullptr;
  }
  return gradients->gradients.bytes(number).data();
}

thalweg_code thalweg_gradients_announce(thalweg_gradients* gradients, size_t number) {
  return with(gradients, "thalweg_gradients_announce",
              [number](thalweg::Gradients& all) { return all.announce(number); });
}
thalweg_code thalweg_gradients_announce_all(thalweg_gradients* gradients) {
  return with(gradients, "thalweg_gradients_announce_all",
              [](thalweg::Gradients& all) { return all.announce_all(); });
}
thalweg_code thalweg_gradients_wait(thalweg_gradients* gradients, size_t number) {
  return with(gradients, "thalweg_gradients_wait",
              [number](thalweg::Gradients& all) { return all.wait(number); });
}
thalweg_code thalweg_gradients_wait_all(thalweg_gradients* gradients) {
  return with(gradients, "thalweg_gradients_wait_all",
              [](thalweg::Gradients& all) { return all.wait_all(); });
}

void thalweg_gradients_stats(const thalweg_gradients* gradients, thalweg_gradient_stats* stats) {
  if (!gradients || !stats) return;
  const auto found = gradients->gradients.stats();
  *stats = {found.buckets, found.units, found.pieces, found.in_flight_bytes_max};
}
