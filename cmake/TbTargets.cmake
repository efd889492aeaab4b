# Flags of this project's own targets; never exported.
add_library(tb_options INTERFACE)
target_include_directories(tb_options INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(tb_options INTERFACE Threads::Threads)
target_compile_options(tb_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wold-style-cast -Wcast-align -Wcast-qual -Wformat=2 -Wundef
  -Wimplicit-fallthrough -Wextra-semi -Wdouble-promotion
  -Wno-missing-field-initializers)  # members left out of a designated initialiser have defaults
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tb_options INTERFACE
    -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wuseless-cast
    # GCC 12 sees overlaps and uninitialised members in std::string and std::variant at -O3.
    -Wno-restrict -Wno-maybe-uninitialized)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A source that is included by the joined one is no header.
  target_compile_options(tb_options INTERFACE -Wno-subobject-linkage)
endif()
if(TB_WERROR)
  target_compile_options(tb_options INTERFACE -Werror)
endif()
# Warnings are the other builds' job. Of "undefined", what is left out (null, object-size, vptr and the
# like) takes as long to compile as all the rest, and AddressSanitizer stops at most of it too.
if(TB_SANITIZE)
  set(tb_sanitizers ${TB_SANITIZE})
  string(REPLACE "undefined"
    "alignment,bool,bounds,enum,float-cast-overflow,integer-divide-by-zero,return,shift,signed-integer-overflow,unreachable"
    tb_sanitizers "${tb_sanitizers}")
  target_compile_options(tb_options INTERFACE
    -fsanitize=${tb_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all -w
    $<$<BOOL:${TB_FUZZ}>:-fsanitize=fuzzer-no-link>)
  target_link_options(tb_options INTERFACE -fsanitize=${TB_SANITIZE})
endif()

# tb_add_library(name SOURCES ... PUBLIC targets PRIVATE targets TESTS ... TEST_DEPS targets UNBUILT ...)
# Target tb_<name> with alias tunebench::<name>; "engine/ops" is named engine_ops. Each test source
# becomes part of tb_<name>_tests. A source on disk that is in no list stops the configure step.
function(tb_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;PUBLIC;PRIVATE;TESTS;TEST_DEPS;UNBUILT")
  add_library(tb_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(tb_${name} PUBLIC tb_options ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  add_library(tunebench::${name} ALIAS tb_${name})
  file(GLOB on_disk RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cpp *.cu)
  list(REMOVE_ITEM on_disk ${ARG_SOURCES} ${ARG_TESTS} ${ARG_UNBUILT} main.cpp)
  if(on_disk)
    message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}: not in SOURCES, TESTS or UNBUILT: ${on_disk}")
  endif()
  file(GLOB headers CONFIGURE_DEPENDS *.h)
  if(headers)
    target_sources(tb_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
    set_target_properties(tb_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  if(TB_BUILD_TESTS AND ARG_TESTS)
    tb_add_tests(tb_${name}_tests PREFIX ${name} LABELS unit SOURCES ${ARG_TESTS}
                 LINK tb_${name} ${ARG_TEST_DEPS})
  endif()
endfunction()

# Test code under a sanitizer: what is tested is instrumented in full, the test for memory and threads.
add_library(tb_test_options INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 at -O3 takes the small buffer of a std::string for the long text in it.
  target_compile_options(tb_test_options INTERFACE
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(TB_SANITIZE)
  target_compile_options(tb_test_options INTERFACE -O0 -fno-sanitize=undefined)
  target_compile_definitions(tb_test_options INTERFACE TB_SANITIZED)
endif()

# GoogleTest and GoogleMock take four seconds to read; every test target takes them from here.
if(TB_BUILD_TESTS)
  file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cpp "")
  add_library(tb_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cpp)
  target_link_libraries(tb_test_headers PRIVATE tb_options tb_test_options GTest::gtest GTest::gmock)
  target_precompile_headers(tb_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

# tb_add_tests(target PREFIX text LABELS ... SOURCES ... LINK targets)
# Names begin with "asan/" or "tsan/" in those builds, so that one run can hold several builds.
# Label "slow": runs alone, and not at all under a sanitizer; "long": not under a sanitizer.
# "integration" is not built for ThreadSanitizer: what the program does with threads, the tests of
# base, engine, trainer and hardware do.
function(tb_add_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "PREFIX" "SOURCES;LINK;LABELS")
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE tb_options tb_test_options ${ARG_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  target_precompile_headers(${target} REUSE_FROM tb_test_headers)
  set(properties TIMEOUT 300)
  if((TB_SANITIZE AND ("slow" IN_LIST ARG_LABELS OR "long" IN_LIST ARG_LABELS)) OR
     (TB_SANITIZE MATCHES "thread" AND "integration" IN_LIST ARG_LABELS))
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if("slow" IN_LIST ARG_LABELS)
    set(properties TIMEOUT 900 RUN_SERIAL ON)
  elseif("trainers" IN_LIST ARG_LABELS)
    set(properties TIMEOUT 7200 RUN_SERIAL ON)  # the first makes an environment of gigabytes
  endif()
  set(build "")
  if(TB_SANITIZE MATCHES "address")
    set(build "asan/")
  elseif(TB_SANITIZE MATCHES "thread")
    set(build "tsan/")
  endif()
  gtest_discover_tests(${target} TEST_PREFIX "${build}${ARG_PREFIX}/" DISCOVERY_TIMEOUT 60
                       TEST_LIST ${target}_names PROPERTIES ${properties})
  # Given as a property above, a list of labels would come apart.
  set(labels ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
  file(WRITE ${labels} "if(${target}_names)
  set_tests_properties(\${${target}_names} PROPERTIES LABELS \"${ARG_LABELS}\")
endif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels})
endfunction()
