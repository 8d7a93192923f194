# Settings that every hlokit target shares.
add_library(hlokit_settings INTERFACE)
target_include_directories(hlokit_settings INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR})
target_compile_options(hlokit_settings INTERFACE -Wall -Wextra -Wno-missing-field-initializers
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # false alarms of g++ 12 on std::string
if(HLOKIT_DEVELOPER)
  target_compile_options(hlokit_settings INTERFACE -Werror)
endif()
if(HLOKIT_SANITIZE)
  target_compile_options(hlokit_settings INTERFACE -fsanitize=${HLOKIT_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(hlokit_settings INTERFACE -fsanitize=${HLOKIT_SANITIZE})
endif()
if(HLOKIT_FUZZ)
  target_compile_options(hlokit_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()

# hlokit_library(NAME SOURCES... DEPS...): a static library of one stage.
function(hlokit_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC hlokit_settings ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
endfunction()

# hlokit_test(NAME SOURCES... DEPS...): a GoogleTest program, one ctest entry per program.
function(hlokit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE HLOKIT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
endfunction()
