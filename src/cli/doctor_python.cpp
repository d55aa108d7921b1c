// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/doctor_python.h"

#include "launch/tool.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::cli {
namespace {

// Asks PyTorch's own constants: get_arch_list() is empty where no GPU is visible. Starts no CUDA.
constexpr const char* k_script = R"(
import json, sys
import torch
def attempt(ask):
    try:
        return ask()
    except Exception:
        return None
nccl = attempt(lambda: torch.cuda.nccl.version())
print()
print(json.dumps({
    "python": sys.version.split()[0],
    "torch": str(torch.__version__),
    "path": str(torch.__file__),
    "cuda": str(torch.version.cuda or ""),
    "architectures": (attempt(lambda: torch._C._cuda_getArchFlags()) or "").split(),
    "nccl": ".".join(map(str, nccl)) if isinstance(nccl, tuple) else "",
}))
)";

} // namespace

analysis::doctor::PythonTorch ask_python(const std::string& interpreter,
                                         const std::vector<std::string>& environment,
                                         std::chrono::milliseconds patience) {
  analysis::doctor::PythonTorch found;
  found.interpreter = interpreter;
  auto output = launch::output_of_tool({interpreter, "-c", k_script}, environment, patience);
  if (!output) {
    found.problem = output.error().text();
    return found;
  }
  // Packages print what they like before it.
  std::size_t at = output->rfind("\n{");
  auto said = nlohmann::json::parse(at == std::string::npos ? "" : output->substr(at), nullptr,
                                    /*allow_exceptions=*/false);
  try {
    said.at("python").get_to(found.python);
    said.at("torch").get_to(found.torch);
    said.at("path").get_to(found.path);
    said.at("cuda").get_to(found.cuda);
    said.at("architectures").get_to(found.architectures);
    said.at("nccl").get_to(found.nccl);
  } catch (const nlohmann::json::exception&) {
    found = {};
    found.interpreter = interpreter;
    found.problem = "its answer is not what was asked for: is it a Python 3?";
  }
  return found;
}

} // namespace ncclprobe::cli
