# Writes OUTPUT, the function kernels/cuda/kernel_version.h declares, from the SOURCES of the
# kernels: cmake -D OUTPUT=FILE -D SOURCES=A,B,... -P kernel_version.cmake
string(REPLACE "," ";" files "${SOURCES}")
set(digests)
foreach(file ${files})
    file(SHA256 ${file} digest)
    string(APPEND digests ${digest})
endforeach()
string(SHA256 version "${digests}")
string(SUBSTRING ${version} 0 12 version)
file(WRITE ${OUTPUT}
"#include \"kernels/cuda/kernel_version.h\"

namespace orrery::device {

std::string_view kernel_version() {
    return \"${version}\";
}

}  // namespace orrery::device
")
