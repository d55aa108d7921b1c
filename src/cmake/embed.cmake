# Writes a C++ file that contains text files as string literals, as the function embedded_text() that
# the header declares:
#   cmake -DOUTPUT=x.cpp -DHEADER=a/b.h -DNAMESPACE=n "-DFILES=a.json;b.json" -P embed.cmake
set(code "// Made by src/cmake/embed.cmake.\n#include \"${HEADER}\"\n\n")
string(APPEND code "namespace ${NAMESPACE} {\n\nstd::string_view embedded_text([[maybe_unused]] std::string_view name) {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  if(text MATCHES "\\)text\"")
    message(FATAL_ERROR "${file}: holds the end mark of a raw string")
  endif()
  # Compilers may reject literals above 64 KiB; adjacent ones are joined.
  string(LENGTH "${text}" length)
  string(APPEND code "  if (name == \"${name}\")\n    return\n")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 30000 piece)
    string(APPEND code "R\"text(${piece})text\"\n")
    math(EXPR at "${at} + 30000")
  endwhile()
  string(APPEND code "      ;\n")
endforeach()
string(APPEND code "  return {};\n}\n\n} // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${code}")
