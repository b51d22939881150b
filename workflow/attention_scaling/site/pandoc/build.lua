-- Renders pages of a site in one Pandoc process:
--
--   pandoc lua build.lua < job.json > result.json
--
-- job:    { template, footer, toc_depth, pages: [ { source, toc, variables } ] }
-- result: [ { html, problems: [text] } ], one a page, in order
local here = pandoc.path.directory(arg[0])
local transform = dofile(pandoc.path.join { here, 'subset.lua' })

local job = pandoc.json.decode(io.read('a'), false)
local template = pandoc.template.compile(job.template)

local function html(doc, options)
  return pandoc.write(doc, 'html5', options)
end

local function render(page)
  page.variables.footer = html(pandoc.read(job.footer, 'markdown'))
  page.variables['pandoc-version'] = tostring(PANDOC_VERSION)
  local doc, problems = transform(pandoc.read(page.source, 'markdown'))
  local text = html(doc, {
    html_math_method = 'mathml',
    table_of_contents = page.toc,
    toc_depth = job.toc_depth,
    template = template,
    variables = page.variables,
    wrap_text = 'preserve',
  })
  return text, problems
end

local results = pandoc.List()
for _, page in ipairs(job.pages) do
  local messages, text, problems = pandoc.log.silence(render, page)
  for _, message in ipairs(pandoc.json.decode(pandoc.json.encode(messages), false)) do -- opaque in Lua
    if message.verbosity == 'WARNING' then problems:insert(message.pretty) end
  end
  results:insert({ html = text, problems = problems })
end
io.write(pandoc.json.encode(results))
