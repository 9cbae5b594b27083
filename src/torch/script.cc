// A TorchScript module: `forward` takes f32 [rows, inputs] and returns scores; `loss(scores, labels)`, if it
// has that, the loss of each row. Its parameters that want gradients are tables by the names of state_dict().
// It is in evaluation mode throughout, so that equal rows give equal bits: dropout does nothing, and
// statistics stay as they are.
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "torch/network.h"
#include "torch/script.h"
#include "torch/torch_error.h"

namespace thalweg {
namespace {

// Where a parameter is kept; a tensor that has two names is one parameter.
struct Slot {
  torch::jit::Module owner;
  std::string name;
};
struct ScriptParameter {
  std::string name;
  at::Tensor initial;
  std::vector<Slot> slots;
};

void collect(const torch::jit::Module& module, const std::string& path, std::vector<ScriptParameter>& out) {
  for (const auto& own : module.named_parameters(false)) {
    if (!own.value.requires_grad()) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const ScriptParameter& known) {
      return known.initial.data_ptr() == own.value.data_ptr() && own.value.numel() > 0;
    });
    if (same != out.end()) {
      same->slots.push_back({module, own.name});
    } else {
      out.push_back({path + own.name, own.value.detach(), {{module, own.name}}});
    }
  }
  for (const auto& child : module.named_children()) collect(child.value, path + child.name + ".", out);
}

std::optional<DType> dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return DType::kF32;
    case at::kDouble:
      return DType::kF64;
    case at::kHalf:
      return DType::kF16;
    case at::kBFloat16:
      return DType::kBf16;
    case at::kLong:
      return DType::kI64;
    case at::kInt:
      return DType::kI32;
    case at::kShort:
      return DType::kI16;
    case at::kChar:
      return DType::kI8;
    case at::kByte:
      return DType::kU8;
    case at::kBool:
      return DType::kBool;
    default:
      return {};
  }
}

Status refuse(const ModelSpec& spec, const std::string& why) {
  return {Code::kUsage, spec.script + ": " + why};
}

std::string text_of(at::IntArrayRef shape) {
  std::string out = "[";
  for (const std::int64_t size : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(size);
  return out + "]";
}

bool is_floats(const at::Tensor& made, at::IntArrayRef expected) {
  return made.sizes() == expected && made.scalar_type() == at::kFloat;
}
std::runtime_error misfit(const std::string& what, const at::Tensor& made, at::IntArrayRef expected) {
  return std::runtime_error(what + " " + made.toString() + " " + text_of(made.sizes()) +
                            "; expected float32 " + text_of(expected));
}

class Script final : public Network {
 public:
  Script(const ModelSpec& spec, torch::jit::Module module)
      : file_(spec.script),
        module_(std::move(module)),
        outputs_(outputs_of(spec)),
        of_score_(is_of_score(spec.loss)) {
    module_.eval();
    collect(module_, "", parameters_);
    for (ScriptParameter& parameter : parameters_) parameter.initial = parameter.initial.contiguous();
    const auto keep = [this](const std::string& name, const at::Tensor& values) {
      fixed_.emplace_back(name, values.layout() == at::kStrided ? values.contiguous() : values);
    };
    for (const auto& parameter : module_.named_parameters()) {
      if (!parameter.value.requires_grad()) keep(parameter.name, parameter.value);
    }
    for (const auto& buffer : module_.named_buffers()) keep(buffer.name, buffer.value);
    own_loss_ = module_.find_method("loss").has_value();
  }

  std::vector<Parameter> parameters() const override {
    std::vector<Parameter> out;
    for (const ScriptParameter& parameter : parameters_) {
      std::vector<std::int64_t> shape = parameter.initial.sizes().vec();
      if (shape.empty()) shape.push_back(1);
      out.push_back({parameter.name, std::move(shape)});
    }
    return out;
  }
  std::span<const float> initial(std::size_t parameter) const override {
    const at::Tensor& values = parameters_[parameter].initial;
    return {values.data_ptr<float>(), static_cast<std::size_t>(values.numel())};
  }
  Result<std::vector<FixedTensor>> fixed() const override {
    std::vector<FixedTensor> out;
    for (const auto& [name, values] : fixed_) {
      const std::optional<DType> dtype = dtype_of(values.scalar_type());
      if (!dtype || !values.device().is_cpu() || values.layout() != at::kStrided) {
        return Status(Code::kModel, file_ + ": its " + name + " is " + values.toString() +
                                        ", which files have no place for");
      }
      out.push_back({name,
                     *dtype,
                     {values.sizes().begin(), values.sizes().end()},
                     {static_cast<const std::byte*>(values.data_ptr()), values.nbytes()}});
    }
    return out;
  }
  at::Tensor forward(const std::vector<at::Tensor>& parameters, const at::Tensor& inputs) const override {
    const torch::jit::GraphOptimizerEnabledGuard plain(false);  // What is optimized later has other bits.
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const ScriptParameter& own = parameters_[p];
      const at::Tensor value = own.initial.dim() == 0 ? parameters[p].view(at::IntArrayRef()) : parameters[p];
      for (Slot slot : own.slots) slot.owner.setattr(slot.name, value);
    }
    at::Tensor scores = module_.forward({inputs}).toTensor();
    if (of_score_ && scores.dim() == 1) scores = scores.unsqueeze(1);
    if (is_floats(scores, {inputs.size(0), outputs_})) return scores;
    throw misfit("of " + text_of(inputs.sizes()) + " its forward makes", scores, {inputs.size(0), outputs_});
  }
  at::Tensor losses(const at::Tensor& scores, const at::Tensor& labels) const override {
    if (!own_loss_) return {};
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    const at::Tensor losses =
        module_.run_method("loss", of_score_ ? scores.squeeze(1) : scores, labels).toTensor();
    if (is_floats(losses, labels.sizes())) return losses;
    throw misfit("its loss of " + std::to_string(labels.numel()) + " rows is", losses, labels.sizes());
  }

 private:
  const std::string file_;
  mutable torch::jit::Module module_;  // A model's own, and so a thread's.
  std::vector<ScriptParameter> parameters_;
  std::vector<std::pair<std::string, at::Tensor>> fixed_;
  const std::int64_t outputs_;
  const bool of_score_;
  bool own_loss_ = false;
};

Status check_parameters(const ModelSpec& spec, const std::vector<ScriptParameter>& parameters) {
  if (parameters.empty())
    return refuse(spec, "it has no parameters that want gradients, as one that was frozen");
  for (const ScriptParameter& parameter : parameters) {
    const at::Tensor& values = parameter.initial;
    if (values.scalar_type() == at::kFloat && values.numel() > 0 && values.device().is_cpu()) continue;
    return refuse(spec, "its parameter " + parameter.name + " is " + values.toString() + " of " +
                            std::to_string(values.numel()) +
                            " numbers; expected float32 of some, on the CPU");
  }
  return ok_status();
}

// Two rows of zeros, to see what it makes of them. Throws what does not fit.
void try_rows(const ModelSpec& spec, const Script& script) {
  constexpr std::int64_t kRows = 2;
  const c10::InferenceMode guard;
  std::vector<at::Tensor> parameters;
  const auto shapes = script.parameters();
  for (std::size_t p = 0; p < shapes.size(); ++p) {
    parameters.push_back(at::from_blob(const_cast<float*>(script.initial(p).data()), shapes[p].shape,
                                       at::TensorOptions().dtype(at::kFloat)));
  }
  (void)script.losses(script.forward(parameters, at::zeros({kRows, spec.inputs})), at::zeros({kRows}));
}

}  // namespace

Status check_script(const ModelSpec& spec) {
  if (::access(spec.script.c_str(), R_OK) != 0)
    return refuse(spec, std::string("cannot be opened: ") + std::strerror(errno));
  try {
    const torch::jit::Module module = torch::jit::load(spec.script);
    std::vector<ScriptParameter> parameters;
    collect(module, "", parameters);
    if (Status status = check_parameters(spec, parameters); !status.ok()) return status;
    if (spec.inputs != 0) try_rows(spec, Script(spec, module));
    return ok_status();
  } catch (const std::exception& error) {
    return refuse(
        spec, "cannot be used as a TorchScript module: " + torch_error_line(error) +
                  "\nhint: torch.jit.script(module).save(FILE) writes one; what torch.save() writes is none");
  }
}

std::unique_ptr<Network> make_script(const ModelSpec& spec) {
  return std::make_unique<Script>(spec, torch::jit::load(spec.script));
}

extern constinit const NetworkKind kScriptNetwork = {"script", check_script, make_script};

}  // namespace thalweg
