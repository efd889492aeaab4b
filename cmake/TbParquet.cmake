# Arrow C++ as it comes in the Python package pyarrow, for the optional component of tunebench/parquet.
# Sets TB_ARROW_INCLUDE and TB_ARROW_LIBRARIES when there is one: in TB_ARROW_FOLDER, where
# tools/fetch-arrow put it, or where python3 has it. Nothing is fetched here.
set(TB_ARROW_FOLDER "" CACHE PATH "Folder of the Python package pyarrow; empty: looked for")
set(TB_ARROW_LIBRARIES "")
# Uninstrumented code under a sanitizer tells of faults that are none.
if(NOT TB_SANITIZE)
  set(tb_arrow_folders ${TB_ARROW_FOLDER} ${PROJECT_SOURCE_DIR}/build/cache/pyarrow/pyarrow)
  find_program(TB_PYTHON python3)
  if(TB_PYTHON)
    execute_process(
      COMMAND ${TB_PYTHON} -c
              "import importlib.util as u; s = u.find_spec('pyarrow'); print(s.submodule_search_locations[0] if s else '')"
      OUTPUT_VARIABLE tb_arrow_of_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND tb_arrow_folders ${tb_arrow_of_python})
  endif()
  foreach(folder IN LISTS tb_arrow_folders)
    file(GLOB tb_arrow ${folder}/libarrow.so.*)
    file(GLOB tb_parquet ${folder}/libparquet.so.*)
    list(FILTER tb_arrow INCLUDE REGEX "\\.so\\.[0-9]+$")
    list(FILTER tb_parquet INCLUDE REGEX "\\.so\\.[0-9]+$")
    if(tb_arrow AND tb_parquet AND EXISTS ${folder}/include/parquet/arrow/writer.h)
      set(TB_ARROW_INCLUDE ${folder}/include)
      set(TB_ARROW_LIBRARIES ${tb_arrow} ${tb_parquet})
      get_filename_component(TB_ARROW_PYTHONPATH ${folder} DIRECTORY)
      message(STATUS "Parquet: Arrow in ${folder}")
      break()
    endif()
  endforeach()
endif()
