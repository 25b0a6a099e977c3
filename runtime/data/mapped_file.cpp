// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace orrery {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
    const auto failed = [&](int error) {
        return fail(path.string(), std::string{"can't be read: "} + std::strerror(error));
    };
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return failed(errno);
    }
    struct stat status {};
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(file);
        return fail(path.string(), "is not a file");
    }
    if (status.st_size == 0) {
        ::close(file);
        return fail(path.string(), "is empty");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    ::close(file);
    if (data == MAP_FAILED) {
        return failed(error);
    }
    return std::shared_ptr<const MappedFile>{
        new MappedFile{static_cast<const std::byte*>(data), size}};
}

MappedFile::~MappedFile() {
    ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace orrery
