// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/shared_library.h"

#include <cublasLt.h>
#include <string>

namespace ncclprobe::nvidia {

// cuBLASLt, for matrix products during communication. The library has half a gigabyte and is opened
// only if needed.
class CublasLtLibrary {
  SharedLibrary library_;
  std::string version_;

public:
  explicit CublasLtLibrary(const backend::Options& options); // throws Errc::unsupported
  const std::string& path() const { return library_.path(); }
  std::string version() const { return version_; } // "13.1.0"
  // "CUBLAS_STATUS_NOT_SUPPORTED (15)", with cuBLASLt's text if it has one.
  std::string words(cublasStatus_t status) const;

  decltype(&cublasLtCreate) create = library_.require("cublasLtCreate", version_);
  decltype(&cublasLtDestroy) destroy = library_.require("cublasLtDestroy", version_);
  decltype(&cublasLtMatmul) matmul = library_.require("cublasLtMatmul", version_);
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic =
      library_.require("cublasLtMatmulAlgoGetHeuristic", version_);
  decltype(&cublasLtMatmulDescCreate) desc_create =
      library_.require("cublasLtMatmulDescCreate", version_);
  decltype(&cublasLtMatmulDescDestroy) desc_destroy =
      library_.require("cublasLtMatmulDescDestroy", version_);
  decltype(&cublasLtMatmulDescSetAttribute) desc_set =
      library_.require("cublasLtMatmulDescSetAttribute", version_);
  decltype(&cublasLtMatrixLayoutCreate) layout_create =
      library_.require("cublasLtMatrixLayoutCreate", version_);
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy =
      library_.require("cublasLtMatrixLayoutDestroy", version_);
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set =
      library_.require("cublasLtMatrixLayoutSetAttribute", version_);
  decltype(&cublasLtMatmulPreferenceCreate) preference_create =
      library_.require("cublasLtMatmulPreferenceCreate", version_);
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy =
      library_.require("cublasLtMatmulPreferenceDestroy", version_);
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set =
      library_.require("cublasLtMatmulPreferenceSetAttribute", version_);

private:
  decltype(&cublasLtGetStatusName) status_name_ =
      library_.optional("cublasLtGetStatusName"); // since 11.4
};

// Throws Errc::failed, or Errc::unsupported if cuBLASLt reports that, with version, call and text.
[[noreturn]] void raise_cublaslt(const CublasLtLibrary& library, cublasStatus_t status,
                                 const char* call, const char* file, int line);

} // namespace ncclprobe::nvidia

// `call` is a function of the library's table: NCCLPROBE_CUBLASLT_CALL(library, create(&handle)).
#define NCCLPROBE_CUBLASLT_CALL(library, call)                                                     \
  do {                                                                                             \
    if (cublasStatus_t ncclprobe_status = (library).call;                                          \
        ncclprobe_status != CUBLAS_STATUS_SUCCESS)                                                 \
      ::ncclprobe::nvidia::raise_cublaslt(library, ncclprobe_status, #call, __FILE__, __LINE__);   \
  } while (false)
