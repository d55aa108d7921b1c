// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <hdf5.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

// Owners and return-code checks for HDF5's C calls. Included only by files of store/.
namespace ncclprobe::store {

// Call it before using HDF5. HDF5 then prints no error stack to stderr (a setting of the thread).
// And no file can make it load a library (a filter) or open another file (a link), because files
// are data and may come from somebody else.
void prepare_hdf5();

// HDF5's error stack on one line, cause first; then the stack is cleared.
std::string take_hdf5_error();

// Returns the value if it is not negative; otherwise throws Exception (failed) with call,
// object and HDF5's message.
template <typename T>
T check_hdf5(T value, const char* call, std::string_view object) {
  if (value >= 0)
    return value;
  raise(Errc::failed, "{}({}): {}", call, object, take_hdf5_error());
}

// Owns one HDF5 identifier. The destructor closes it and ignores the result; a writer calls
// close(), because a failed close means lost data.
template <herr_t (*close_call)(hid_t)>
class Hdf5Handle {
public:
  // `call` and `object` say what failed if the identifier is negative.
  Hdf5Handle(hid_t id, const char* call, std::string_view object)
      : id_(check_hdf5(id, call, object)) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
    if (id_ >= 0 && close_call(id_) < 0)
      H5Eclear2(H5E_DEFAULT);
  }

  hid_t get() const { return id_; }
  void close(std::string_view object) {
    check_hdf5(close_call(std::exchange(id_, H5I_INVALID_HID)), "close", object);
  }

private:
  hid_t id_;
};

using Hdf5File = Hdf5Handle<H5Fclose>;
using Hdf5Group = Hdf5Handle<H5Gclose>;
using Hdf5Dataset = Hdf5Handle<H5Dclose>;
using Hdf5Space = Hdf5Handle<H5Sclose>;
using Hdf5Type = Hdf5Handle<H5Tclose>;
using Hdf5Attribute = Hdf5Handle<H5Aclose>;
using Hdf5Properties = Hdf5Handle<H5Pclose>;

// Creates a file on the disk. The 1.10 format has checksums for all metadata. The file is not
// locked: file systems without locks would refuse, and no other process knows its name.
Hdf5File create_hdf5_file(const std::filesystem::path& path);

} // namespace ncclprobe::store
