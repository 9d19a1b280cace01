# CMake reads this before llama.cpp's own files; .cargo/config.toml names it.
# The crate always asks for the library behind llama.cpp's programs, which is half of the compile and nothing here calls.
set(LLAMA_BUILD_COMMON OFF)
