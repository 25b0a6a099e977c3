// SPDX-License-Identifier: Apache-2.0
// Standard input as a file, for readers that read a file more than once.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/result.h"

namespace orrery {

class SpooledInput {
public:
    // If the name is "-", standard input is copied to a temporary file.
    static Result<SpooledInput> of(const std::string& name);
    ~SpooledInput();
    SpooledInput(SpooledInput&& other) noexcept;
    SpooledInput& operator=(SpooledInput&&) = delete;

    const std::string& file() const { return file_; }
    // Errors name standard input in place of the temporary file.
    Errors renamed(Errors errors) const;

private:
    explicit SpooledInput(std::string file) : file_(std::move(file)) {}

    std::string file_;
    bool temporary_ = false;
};

}  // namespace orrery
