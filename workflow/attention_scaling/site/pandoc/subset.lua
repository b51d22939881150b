-- The part of Quarto's Markdown that the pages use, as a function from Pandoc document to Pandoc
-- document: tabsets, callouts, numbered figures, tables and equations, references to them and to
-- sections, and layouts. Class names and wording are Quarto's, so one stylesheet serves both engines.

local TITLES = { fig = 'Figure', tbl = 'Table', eq = 'Equation', sec = 'Section' }
local CALLOUTS = { note = 'Note', tip = 'Tip', important = 'Important', warning = 'Warning',
  caution = 'Caution' }
local NBSP = '\u{a0}'

local function kind_of(label)
  local kind = label:match('^(%a+)%-')
  return TITLES[kind] and kind
end

local function is_float(label)
  local kind = kind_of(label)
  return kind == 'fig' or kind == 'tbl'
end

-- The label when the inline at `i` is one, as in `$$...$$ {#eq-name}`.
local function equation_label(inlines, i)
  local label = inlines[i].t == 'Str' and inlines[i].text:match('^{#(eq%-[^}]+)}$')
  return label and inlines[i - 2].t == 'Math' and label
end

local function escape(text)
  return (text:gsub('[&<>"]', { ['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;', ['"'] = '&quot;' }))
end

local function inlines_of(markdown)
  return pandoc.utils.blocks_to_inlines(pandoc.read(markdown, 'markdown').blocks)
end

-- An HTML element that Pandoc has no type for, around blocks. `attributes` is a list of {name, value}.
local function element(name, attributes, blocks)
  local open = '<' .. name
  for _, pair in ipairs(attributes) do
    open = open .. ' ' .. pair[1] .. '="' .. escape(pair[2]) .. '"'
  end
  local result = pandoc.Blocks { pandoc.RawBlock('html', open .. '>') }
  result:extend(blocks)
  result:insert(pandoc.RawBlock('html', '</' .. name .. '>'))
  return result
end

-- ## Tabsets ------------------------------------------------------------------------------------------

-- Tabs leave the document's headings, as in Quarto, so this runs before sections are numbered.
local function tabsets()
  local count = 0
  return {
    traverse = 'topdown',
    Div = function(div)
      if not div.classes:includes('panel-tabset') then return nil end
      count = count + 1
      local id, level, tabs = 'tabset-' .. count, nil, pandoc.List()
      for _, block in ipairs(div.content) do
        if block.t == 'Header' and (level == nil or block.level == level) then
          level = block.level
          tabs:insert({ title = block.content, content = pandoc.Blocks {} })
        elseif #tabs > 0 then
          tabs[#tabs].content:insert(block)
        end
      end
      local names = pandoc.Inlines { pandoc.RawInline('html', '<ul class="nav nav-tabs" role="tablist">') }
      local panes = pandoc.Blocks {}
      for i, tab in ipairs(tabs) do
        local pane, chosen = id .. '-' .. i, i == 1
        names:insert(pandoc.RawInline('html', string.format(
          '<li class="nav-item" role="presentation"><a class="nav-link%s" id="%s-tab" href="#%s" role="tab"'
          .. ' aria-controls="%s" aria-selected="%s">',
          chosen and ' active' or '', pane, pane, pane, chosen)))
        names:extend(tab.title)
        names:insert(pandoc.RawInline('html', '</a></li>'))
        panes:insert(pandoc.Div(tab.content, pandoc.Attr(pane,
          { 'tab-pane', chosen and 'active' or nil },
          { { 'role', 'tabpanel' }, { 'aria-labelledby', pane .. '-tab' } })))
      end
      names:insert(pandoc.RawInline('html', '</ul>'))
      div.content = { pandoc.Plain(names), pandoc.Div(panes, pandoc.Attr('', { 'tab-content' })) }
      return div
    end,
  }
end

-- ## Callouts -----------------------------------------------------------------------------------------

local function callout(div)
  local kind
  for _, class in ipairs(div.classes) do
    kind = kind or class:match('^callout%-(%a+)$')
  end
  if not CALLOUTS[kind] then return nil end

  local title, content = nil, div.content
  if div.attributes.title then
    title = inlines_of(div.attributes.title)
  elseif content[1] and content[1].t == 'Header' then
    title = content[1].content
    content:remove(1)
  end
  if title then
    title:insert(1, pandoc.Span(CALLOUTS[kind] .. ' ', pandoc.Attr('', { 'screen-reader-only' })))
  else
    title = pandoc.Inlines { pandoc.Str(CALLOUTS[kind]) }
  end
  local header = pandoc.Blocks {
    pandoc.RawBlock('html', '<div class="callout-icon-container"><i class="callout-icon"></i></div>'),
    pandoc.Div({ pandoc.Plain(title) }, pandoc.Attr('', { 'callout-title-container' })),
  }
  local body = pandoc.Div(content, pandoc.Attr('', { 'callout-body-container', 'callout-body' }))
  local classes = 'callout callout-style-default callout-titled callout-' .. kind
  local attributes = pandoc.List { { 'class', classes } }
  if div.identifier ~= '' then attributes:insert({ 'id', div.identifier }) end

  if div.attributes.collapse == nil then
    local blocks = element('div', { { 'class', 'callout-header' } }, header)
    blocks:insert(body)
    return element('div', attributes, blocks)
  end
  -- <details> opens by keyboard and without any script.
  if div.attributes.collapse == 'false' then attributes:insert({ 'open', 'open' }) end
  local blocks = element('summary', { { 'class', 'callout-header' } }, header)
  blocks:insert(body)
  return element('details', attributes, blocks)
end

-- ## Numbers ------------------------------------------------------------------------------------------

-- Long pages have thousands of paragraphs and no formula: they need not come to Lua one by one.
local function has_math(doc)
  local found = false
  doc:walk { Math = function() found = true end }
  return found
end

-- Numbers everything that can be referred to, in the order of the document.
-- Returns label -> { kind, number, part }, where part is the letter of a subfigure.
local function number(doc, problems, with_math)
  local entries, counts, sections = {}, { fig = 0, tbl = 0, eq = 0 }, {}

  local function add(label, entry)
    if entries[label] then problems:insert('the label ' .. label .. ' is used twice') end
    entries[label] = entry
  end

  local function add_whole(label, kind)
    counts[kind] = counts[kind] + 1
    add(label, { kind = kind, number = tostring(counts[kind]) })
  end

  -- A float inside a float is a part of it, with a letter. The walk comes to the parts again later.
  local parts = {}
  local function add_parts(float)
    local whole, letter = entries[float.identifier], string.byte('a')
    local function add_part(block)
      if is_float(block.identifier) then
        add(block.identifier, { kind = whole.kind, number = whole.number, part = string.char(letter) })
        parts[block.identifier] = true
        letter = letter + 1
      end
    end
    float.content:walk { traverse = 'topdown', Div = add_part, Figure = add_part, Table = add_part }
  end

  local function add_float(block)
    if is_float(block.identifier) and not parts[block.identifier] then
      add_whole(block.identifier, kind_of(block.identifier))
      if block.t == 'Div' then add_parts(block) end
    end
  end

  local function equations(block)
    for i = 3, #block.content do
      local label = equation_label(block.content, i)
      if label then add_whole(label, 'eq') end
    end
  end

  doc:walk {
    traverse = 'topdown',
    Header = function(header)
      -- Quarto counts from the second level on: the first is the page's title.
      if header.level < 2 or header.classes:includes('unnumbered') then return end
      local depth = header.level - 1
      for i = 1, depth do sections[i] = (sections[i] or 0) + (i == depth and 1 or 0) end
      for i = depth + 1, #sections do sections[i] = nil end
      if kind_of(header.identifier) == 'sec' then
        add(header.identifier, { kind = 'sec', number = table.concat(sections, '.') })
      end
    end,
    Div = add_float,
    Figure = add_float,
    Table = add_float,
    Para = with_math and equations or nil,
  }
  return entries
end

-- ## Figures and tables -------------------------------------------------------------------------------

local function caption_of(entry, caption)
  local text = entry.part and '(' .. entry.part .. ')' or TITLES[entry.kind] .. NBSP .. entry.number
  local result = pandoc.Inlines { pandoc.Str(text) }
  if #caption > 0 then
    if not entry.part then result[1].text = text .. ':' end
    result:insert(pandoc.Space())
    result:extend(caption)
  end
  return result
end

-- A numbered figure or table: `content` with `caption`, above a table and below a figure.
local function float(label, classes, content, caption, entry)
  local caption_id = label .. '-caption'
  local place = entry.kind == 'tbl' and 'top' or 'bottom'
  local part = entry.part and 'subfloat' or 'float'
  local captions = element('figcaption', {
    { 'id', caption_id },
    { 'class', string.format('quarto-float-caption-%s quarto-%s-caption quarto-%s-%s', place, part, part, entry.kind) },
  }, { pandoc.Plain(caption_of(entry, caption)) })
  local body = element('div', { { 'aria-describedby', caption_id } }, content)
  local inside = pandoc.Blocks {}
  inside:extend(place == 'top' and captions or body)
  inside:extend(place == 'top' and body or captions)
  local figure = element('figure', { { 'class', 'quarto-float quarto-float-' .. entry.kind .. ' figure' } }, inside)
  local all = pandoc.List { 'quarto-float', 'quarto-figure' }
  all:extend(classes)
  return pandoc.Div(figure, pandoc.Attr(label, all))
end

-- Rows of `columns` cells of equal width, one block a cell.
local function layout(blocks, columns)
  local rows = pandoc.Blocks {}
  for i, block in ipairs(blocks) do
    if (i - 1) % columns == 0 then rows:insert(pandoc.Div({}, pandoc.Attr('', { 'quarto-layout-row' }))) end
    rows[#rows].content:insert(pandoc.Div({ block }, pandoc.Attr('', { 'quarto-layout-cell' },
      { { 'style', string.format('flex-basis: %.1f%%', 100 / columns) } })))
  end
  return rows
end

local function float_div(div, entry, problems)
  local content, caption = div.content, pandoc.Inlines {}
  local last = content[#content]
  if #content > 1 and last.t == 'Para' then
    caption = last.content
    content:remove()
  else -- a lone image or table brings its own caption
    content = content:walk {
      Figure = function(figure)
        caption = pandoc.utils.blocks_to_inlines(figure.caption.long)
        return figure.content
      end,
      Table = function(tbl)
        caption = pandoc.utils.blocks_to_inlines(tbl.caption.long)
        tbl.caption = {}
        return tbl
      end,
    }
  end
  for _, block in ipairs(content) do
    local images = 0
    if block.t == 'Para' then block:walk { Image = function() images = images + 1 end } end
    if images > 1 then
      problems:insert(div.identifier .. ': Quarto shows only the first of several images in one paragraph')
    end
  end
  local columns = tonumber(div.attributes['layout-ncol'])
  if columns then
    content = layout(content, columns)
    div.classes:insert('quarto-layout-panel')
  end
  return float(div.identifier, div.classes, content, caption, entry)
end

local function floats(entries, problems)
  return {
    Figure = function(figure)
      local entry = entries[figure.identifier]
      local caption = pandoc.utils.blocks_to_inlines(figure.caption.long)
      if entry then return float(figure.identifier, figure.classes, figure.content, caption, entry) end
    end,
    Table = function(tbl)
      -- Long source lines would otherwise give relative widths; the browser knows better.
      tbl.colspecs = tbl.colspecs:map(function(spec) return { spec[1], nil } end)
      local entry, caption = entries[tbl.identifier], pandoc.utils.blocks_to_inlines(tbl.caption.long)
      if not entry then return tbl end
      local label = tbl.identifier
      tbl.identifier, tbl.caption = '', {}
      return float(label, {}, { tbl }, caption, entry)
    end,
    Div = function(div)
      local entry, columns = entries[div.identifier], tonumber(div.attributes['layout-ncol'])
      if entry then return float_div(div, entry, problems) end
      if columns then
        div.attributes['layout-ncol'] = nil
        div.classes:insert('quarto-layout-panel')
        div.content = layout(div.content, columns)
        return div
      end
      return callout(div)
    end,
    Image = function(image)
      local alt = image.attributes['fig-alt']
      if alt then
        image.attributes['fig-alt'], image.attributes.alt = nil, alt
        image.caption = { pandoc.Str(alt) }
      end
      image.classes:insert('img-fluid')
      return image
    end,
  }
end

-- ## Equations and references -------------------------------------------------------------------------

local function number_equations(entries)
  return {
    Para = function(block)
      local inlines, found = block.content, false
      for i = #inlines, 3, -1 do
        local label = equation_label(inlines, i)
        if label then
          local math = inlines[i - 2]
          math.text = math.text .. ' \\qquad(' .. entries[label].number .. ')'
          inlines[i - 2] = pandoc.Span({ math }, pandoc.Attr(label))
          inlines:remove(i)
          inlines:remove(i - 1)
          found = true
        end
      end
      if found then
        block.content = inlines
        return block
      end
    end,
  }
end

local function references(entries, problems)
  return {
    Cite = function(cite)
      local result = pandoc.Inlines {}
      for i, citation in ipairs(cite.citations) do
        local entry = entries[citation.id]
        if not entry then
          problems:insert('nothing on the page has the label @' .. citation.id)
          return nil
        end
        local prefix = TITLES[entry.kind] .. NBSP
        if #citation.prefix > 0 then
          prefix = pandoc.utils.stringify(citation.prefix) .. NBSP
        elseif citation.mode == 'SuppressAuthor' then
          prefix = ''
        end
        local part = entry.part and ' (' .. entry.part .. ')' or ''
        if i > 1 then result:extend { pandoc.Str(','), pandoc.Space() } end
        result:insert(pandoc.Link(prefix .. entry.number .. part, '#' .. citation.id, '',
          pandoc.Attr('', { 'quarto-xref' })))
      end
      return result
    end,
  }
end

-- Transforms one page. Returns the document and the list of what is wrong with it.
return function(doc)
  local problems = pandoc.List()
  doc = doc:walk(tabsets())
  local with_math = has_math(doc)
  local entries = number(doc, problems, with_math)
  doc = doc:walk(references(entries, problems))
  if with_math then doc = doc:walk(number_equations(entries)) end
  doc = doc:walk(floats(entries, problems))
  return doc, problems
end
