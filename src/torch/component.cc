// What the program finds in this component's file.
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/csrc/jit/runtime/print_handler.h>

#include <cstdio>

#include "model/dense/component.h"
#include "torch/deepfm.h"
#include "torch/torch_model.h"

// A new network is a file that defines it, and its line here; and its kind in src/model/dense.
#define THALWEG_NETWORKS(NETWORK) \
  NETWORK(kSoftmaxNetwork)        \
  NETWORK(kMlpNetwork)            \
  NETWORK(kConvnetNetwork)        \
  NETWORK(kGptNetwork)            \
  NETWORK(kScriptNetwork)

namespace thalweg {

#define THALWEG_DECLARE_NETWORK(name) extern const NetworkKind name;
THALWEG_NETWORKS(THALWEG_DECLARE_NETWORK)
#undef THALWEG_DECLARE_NETWORK

namespace {

constexpr std::string_view kDeepFm = "deepfm";  // It is no network: its factors are in a sparse table.

const NetworkKind* network_of(const ModelSpec& spec) {
#define THALWEG_LIST_NETWORK(name) &name,
  static constexpr const NetworkKind* kNetworks[] = {THALWEG_NETWORKS(THALWEG_LIST_NETWORK)};
#undef THALWEG_LIST_NETWORK
  for (const NetworkKind* network : kNetworks) {
    if (spec.name == network->name) return network;
  }
  return nullptr;
}

Status check(const ModelSpec& spec) {
  const NetworkKind* const network = network_of(spec);
  if (spec.name == kDeepFm) return ok_status();
  if (network == nullptr) return {Code::kUsage, "the component of dense models has no " + spec.name};
  return network->check == nullptr ? ok_status() : network->check(spec);
}

std::unique_ptr<Model> make(const ModelSpec& spec) {
  if (spec.name == kDeepFm) return make_deepfm(spec);
  return make_torch_model(spec, network_of(spec)->make(spec));
}

// Each data shard computes on its own thread: more of them would only wait for each other, and sums that are
// split among them would depend on their number.
void compute_on_one_thread() {
  at::set_num_threads(1);
  void* const blas = dlopen("libblas.so.3", RTLD_LAZY | RTLD_NOLOAD);
  using SetThreads = void (*)(int);
  const auto set =
      blas == nullptr ? nullptr : reinterpret_cast<SetThreads>(dlsym(blas, "openblas_set_num_threads"));
  if (set != nullptr) set(1);
}

// Each step asks for the memory that the last one has freed; by default the kernel takes it back in between,
// and fills it with zeros again.
void keep_freed_memory() {
  constexpr int kMapAlone = 32 << 20,
                kFreeAtMost = 512 << 20;  // The first is the greatest that there may be.
  mallopt(M_MMAP_THRESHOLD, kMapAlone);
  mallopt(M_TRIM_THRESHOLD, kFreeAtMost);
}

// Standard output is for results.
void print_for_people() {
  if (torch::jit::getPrintHandler() != torch::jit::getDefaultPrintHandler())
    return;  // The application's own.
  torch::jit::setPrintHandler([](const std::string& text) { std::fputs(text.c_str(), stderr); });
}

constexpr DenseComponent kComponent = {THALWEG_VERSION, check, make};

}  // namespace

extern "C" __attribute__((visibility("default"))) const DenseComponent* thalweg_dense_component();

extern "C" const DenseComponent* thalweg_dense_component() {
  compute_on_one_thread();
  keep_freed_memory();
  print_for_people();
  return &kComponent;
}

}  // namespace thalweg
