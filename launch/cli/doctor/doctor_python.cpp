// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/doctor_python.h"

#include "base/json_document.h"
#include "launch/supervisor/tool.h"

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
  auto said = base::parse_json<analysis::doctor::PythonTorch>(
      at == std::string::npos ? "" : output->substr(at));
  if (said && !said->python.empty())
    found = *said;
  else
    found.problem = "its answer is not as expected: is it Python 3?";
  found.interpreter = interpreter;
  return found;
}

} // namespace ncclprobe::cli
