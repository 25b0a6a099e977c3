// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/spooled_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "scenarios/format/document/output_file.h"
#include "scenarios/format/document/yaml_document.h"

namespace orrery {

Result<SpooledInput> SpooledInput::of(const std::string& name) {
    if (name != "-") {
        return SpooledInput{name};
    }
    const Result<std::string> text = read_text_file(name);
    if (!text) {
        return unexpected<Error>(text.error());
    }
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
    SpooledInput input{(folder / fmt::format("orrery-standard-input-{}", getpid())).string()};
    const Result<void> written = OutputFile::write(input.file_, *text);
    if (!written) {
        return unexpected<Error>(written.error());
    }
    input.temporary_ = true;
    return input;
}

SpooledInput::SpooledInput(SpooledInput&& other) noexcept
    : file_(other.file_), temporary_(std::exchange(other.temporary_, false)) {}

SpooledInput::~SpooledInput() {
    std::error_code ignored;
    if (temporary_) {
        std::filesystem::remove(file_, ignored);
    }
}

Errors SpooledInput::renamed(Errors errors) const {
    for (Error& error : errors) {
        if (temporary_ && error.where.starts_with(file_)) {
            error.where.replace(0, file_.size(), "standard input");
        }
    }
    return errors;
}

}  // namespace orrery
